/** Menus of the panel. Their entries are commands. */
import type { CommandRegistry } from '@lumino/commands';
import type { ReadonlyJSONObject } from '@lumino/coreutils';
import { Menu } from '@lumino/widgets';

/** A command with its arguments, or a line. */
export type MenuEntry =
  { command: string; args: ReadonlyJSONObject } | { type: 'separator' };

/** Open a menu below an element, and give the focus back when it closes. */
export function openMenu(
  commands: CommandRegistry,
  anchor: HTMLElement,
  entries: readonly MenuEntry[]
): void {
  const menu = new Menu({ commands });
  menu.addClass('jp-ElasticMenu');
  menu.addClass('jp-ThemedContainer');
  for (const entry of entries) {
    menu.addItem(entry);
  }
  menu.aboutToClose.connect(() => {
    anchor.setAttribute('aria-expanded', 'false');
    anchor.focus();
    // The chosen command is run after the menu closes.
    window.setTimeout(() => menu.dispose(), 0);
  });
  anchor.setAttribute('aria-expanded', 'true');
  const { left, bottom } = anchor.getBoundingClientRect();
  menu.open(left, bottom);
}
