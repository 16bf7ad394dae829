// Colours that people with any colour vision can distinguish: Okabe and Ito's for kinds, and maps whose lightness grows
// from the page's background.

import {interpolateCividis, interpolateYlGnBu} from 'd3-scale-chromatic';
import {rgb} from 'd3-color';

/** Whether the page is dark now. */
export function isDark() {
  return document.documentElement.dataset.theme === 'dark';
}

const KINDS_LIGHT = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#8c7a00', '#6a51a3', '#7f3b08', '#4d9221', '#5e6b78', '#aab2ba'];
const KINDS_DARK = ['#3d9ad6', '#e69f00', '#1dbb8d', '#d98fb8', '#8cd0f5', '#e8743b', '#c9b84a', '#a08bd0', '#b8763f', '#8bbf62', '#8b98a5', '#5a646e'];

/** Of parts that a legend names. */
export function partColours() {
  return isDark() ? KINDS_DARK : KINDS_LIGHT;
}

/** Of amounts, 0 to 1, as 256 colours `[red, green, blue]`; the first is the background's. */
export function heatColours() {
  const dark = isDark();
  const ground = rgb(getComputedStyle(document.body).backgroundColor);
  return Array.from({length: 256}, (_, index) => {
    if (index === 0) return [ground.r, ground.g, ground.b];
    const share = index / 255;
    const {r, g, b} = rgb(dark ? interpolateCividis(0.12 + 0.88 * share) : interpolateYlGnBu(0.12 + 0.88 * share));
    return [r, g, b];
  });
}

/** A number that the same text always has. */
function hash(text) {
  let sum = 2166136261;
  for (let at = 0; at < text.length; at += 1) sum = Math.imul(sum ^ text.charCodeAt(at), 16777619);
  return sum >>> 0;
}

/** Of a frame in a flame graph: waits, run-time libraries, loops and other code apart; neighbours a little. */
export function frameColour(tree, row) {
  const shade = hash(tree.name(row)) % 5;
  const dark = isDark();
  const of = (hue, saturation, light, step) => `hsl(${hue} ${saturation}% ${light + (dark ? 1 : -1) * shade * step}%)`;
  if (tree.isWait(row)) return dark ? of(24, 62, 42, 1.6) : of(28, 88, 74, 2);
  if (tree.isRunTime(row)) return dark ? of(215, 8, 34, 1.6) : of(215, 10, 86, 1.6);
  if (tree.kind(row) === 'loop') return dark ? of(172, 34, 30, 1.6) : of(172, 38, 80, 2);
  return dark ? of(208, 42, 34, 1.8) : of(208, 62, 84, 2.4);
}
