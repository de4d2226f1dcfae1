/** Numbers as people read them. Units are always there. */
import type { TranslationBundle } from '@jupyterlab/translation';

/** A length of time in seconds, in at most two units: `12 s`, `4 min 10 s`, `2 h 5 min`. */
export function formatDuration(
  seconds: number,
  trans: TranslationBundle
): string {
  const total = Math.max(0, Math.floor(seconds));
  const minutes = Math.floor(total / 60);
  const hours = Math.floor(minutes / 60);
  if (minutes === 0) {
    return trans.__('%1 s', total);
  }
  if (hours === 0) {
    return trans.__('%1 min %2 s', minutes, total % 60);
  }
  if (hours < 48) {
    return trans.__('%1 h %2 min', hours, minutes % 60);
  }
  return trans.__('%1 d %2 h', Math.floor(hours / 24), hours % 24);
}

/** A countdown: `0:48`. */
export function formatCountdown(seconds: number): string {
  const total = Math.max(0, Math.ceil(seconds));
  const rest = String(total % 60).padStart(2, '0');
  return `${Math.floor(total / 60)}:${rest}`;
}

/** An amount of memory, in binary units: `14.2 GiB`. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** An instant (seconds since 1970) as the clock's time. */
export function formatClock(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString();
}

/** Read a whole number, or `null` when the text is anything else. */
export function parseWhole(text: string): number | null {
  const trimmed = text.trim();
  return /^\d{1,9}$/.test(trimmed) ? Number(trimmed) : null;
}

/** A path as the file browser shows it: without the folder where the browser starts. */
export function formatPath(path: string, root: string): string {
  const folder = root.endsWith('/') ? root : `${root}/`;
  return root !== '' && path.startsWith(folder) && path !== folder
    ? path.slice(folder.length)
    : path;
}
