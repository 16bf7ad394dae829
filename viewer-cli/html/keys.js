// The keys, as a dialog.

import {element} from './elements.js';

const KEYS = [
  ['Everywhere', null],
  ['1 … 9, { }', 'go to another tab'],
  ['/  n  N', 'search (regular expression), next, previous'],
  ['s  r  g', 'source, values over ranks, flame graph of the chosen code'],
  ['B', 'back to where you came from'],
  ['t  ?', 'light or dark; these keys'],
  ['Trees', null],
  ['↑ ↓ j k', 'move; PgUp, PgDn, Space, Home, End'],
  ['→ ← l h', 'open, close or go to the parent'],
  ['Enter', 'open or close'],
  ['H', 'hot path: where most of the sorted column goes'],
  ['+  *  -', 'open two levels, open all below, close everything'],
  ['<  >', 'sort by the column before or behind'],
  ['Flame', null],
  ['arrows', 'to another frame'],
  ['Enter, Backspace', 'zoom into it, and back'],
  ['m', 'by calling context, or by callers'],
  ['Time, matrix', null],
  ['arrows', 'cursor; with Shift ten cells'],
  ['+  -  z', 'zoom in, out, everything (Ctrl or Shift and wheel, two fingers)'],
  ['Enter', 'the code where the time went'],
  ['Source', null],
  ['n  N', 'next and previous line with costs'],
];

export function keysDialog() {
  const list = element('dl', {class: 'keys'});
  for (const [keys, text] of KEYS) {
    if (text === null) list.append(element('dt', {class: 'keys-head', text: keys}), element('dd'));
    else list.append(element('dt', {}, element('kbd', {text: keys})), element('dd', {text}));
  }
  const dialog = element('dialog', {'aria-label': 'keys'}, list);
  dialog.append(element('button', {type: 'button', text: 'close', onclick: () => dialog.close()}));
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  return dialog;
}
