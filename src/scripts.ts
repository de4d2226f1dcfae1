/** Which scripts the person has at hand: selected in the file browser, or open in front. */
import type { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import type { IEditorTracker } from '@jupyterlab/fileeditor';

/** Paths below the server's root folder, the likeliest first. */
export type ScriptSource = () => string[];

/** Read them from what this page has. */
export function scriptSource(
  browser: IDefaultFileBrowser | null,
  editors: IEditorTracker | null
): ScriptSource {
  return () => {
    const selected = browser
      ? [...browser.selectedItems()].map(item => item.path)
      : [];
    const edited = editors?.currentWidget?.context.path;
    const paths = edited === undefined ? selected : [...selected, edited];
    return [...new Set(paths.filter(isScript))];
  };
}

/** Python files of the server's own drive; another drive's paths mean nothing to a shell. */
function isScript(path: string): boolean {
  return path.endsWith('.py') && !path.includes(':');
}
