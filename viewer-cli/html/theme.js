// Light or dark: as the system says, until somebody says otherwise. Kept for the next time where browsers keep anything
// for pages from a disk.

const KEY = 'culprit-theme';
const system = window.matchMedia('(prefers-color-scheme: dark)');
const listeners = [];
let chosen = null; // null: the system's

/** Calls `listener` when colours have changed. */
export function onThemeChange(listener) {
  listeners.push(listener);
}

function paint(theme) {
  document.documentElement.dataset.theme = theme;
}
function apply() {
  paint(chosen ?? (system.matches ? 'dark' : 'light'));
  for (const listener of listeners) listener();
}

export function switchTheme() {
  chosen = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // Some browsers keep nothing for files.
  }
  apply();
}

/** Uses what was chosen the last time. */
export function restoreTheme() {
  try {
    const kept = localStorage.getItem(KEY);
    if (kept === 'light' || kept === 'dark') chosen = kept;
  } catch {
    // The system's, then.
  }
  system.addEventListener('change', apply);
  apply();
}

/** Paper is white. Returns what puts the colours back. */
export function lightForPaper() {
  const before = document.documentElement.dataset.theme;
  paint('light');
  return () => paint(before);
}
