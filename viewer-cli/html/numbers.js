// How numbers are written: as viewer-cli does (viewer-cli/text/quantity.cpp).

const GAP = '\u202f'; // between groups of digits

/** `text` with numbers and what follows them, a unit or further digits, on one line. */
export function tied(text) {
  return text.replace(/(\d) (?=\d{3}(?!\d)|(?:%|[nµm]?s|min|h|[kMGTP]?B)(?![\w%]))/g, '$1\u00a0');
}

/** Digits in groups of three. */
export function grouped(value, decimals = 0) {
  const [whole, rest] = Math.abs(value).toFixed(decimals).split('.');
  const digits = whole.replace(/\B(?=(\d{3})+$)/g, GAP);
  return (value < 0 ? '−' : '') + digits + (rest ? `.${rest}` : '');
}

const TIMES = [
  [1, 's'],
  [1e-3, 'ms'],
  [1e-6, 'µs'],
  [1e-9, 'ns'],
];

function decimalsFor(value) {
  const size = Math.abs(value);
  if (size >= 1000) return 0;
  if (size >= 100) return 1;
  return size >= 10 ? 2 : 3;
}

/** A number with its unit, three or four digits of it: `43.20 s`, `12.4 MB`. */
export function quantity(value, unit) {
  if (value === null || Number.isNaN(value)) return 'n/a';
  if (unit === 's') {
    if (value === 0) return '0 s';
    const [factor, name] = TIMES.find(([least]) => Math.abs(value) >= least) ?? TIMES[3];
    return `${grouped(value / factor, Math.max(0, decimalsFor(value / factor) - 1))}\u00a0${name}`;
  }
  if (unit === 'B' || unit === 'bytes') return bytes(value);
  const text = Number.isInteger(value) || Math.abs(value) >= 1000 ? grouped(value) : grouped(value, decimalsFor(value));
  return unit && unit !== 'count' && unit !== 'ratio' ? `${text}\u00a0${unit}` : text;
}

export function bytes(value) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let power = 0;
  while (value >= 1000 && power < units.length - 1) {
    value /= 1000;
    power += 1;
  }
  return `${grouped(value, power === 0 ? 0 : Math.max(0, decimalsFor(value) - 1))}\u00a0${units[power]}`;
}

/** A share with its sign: `31.8 %`. */
export function percent(share, decimals = 1) {
  if (share > 0 && share < 0.001 && decimals === 1) return '<0.1 %';
  return `${(100 * share).toFixed(decimals)}\u00a0%`;
}

/** `1 rank`, `8 ranks`. */
export function counted(number, noun) {
  return `${grouped(number)} ${noun}${number === 1 ? '' : 's'}`;
}

/**
 * How the numbers of one column are written, chosen by the largest of them.
 * @returns {{unit: string, write: (value: number) => string}}
 */
export function scaleFor(largest, unit) {
  if (unit === 's') {
    const [factor, name] = TIMES.find(([least]) => largest >= least) ?? TIMES[3];
    const decimals = Math.min(2, decimalsFor(largest / factor));
    return {unit: name, write: (value) => grouped(value / factor, decimals)};
  }
  const large = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M']].find(([least]) => largest >= 10 * least);
  const named = unit === 'count' || unit === 'threads' || unit === 'ratio' ? '' : unit;
  if (large) return {unit: large[1] + named, write: (value) => grouped(value / large[0], 1)};
  const decimals = largest < 10 ? 3 : largest < 1000 ? 1 : 0;
  return {unit: named, write: (value) => grouped(value, Number.isInteger(value) ? 0 : decimals)};
}
