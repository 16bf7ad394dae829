// What viewer-cli wrote into the page: decoded once, looked up by all.

/**
 * The bytes of a base64 text as numbers.
 * @param {string} text
 * @param {8|16} bits little-endian
 * @returns {Uint8Array|Uint16Array}
 */
export function unpack(text, bits) {
  const plain = atob(text);
  const bytes = new Uint8Array(plain.length);
  for (let at = 0; at < plain.length; at += 1) bytes[at] = plain.charCodeAt(at);
  if (bits === 8) return bytes;
  const words = new Uint16Array(bytes.length / 2);
  for (let at = 0; at < words.length; at += 1) words[at] = bytes[2 * at] | (bytes[2 * at + 1] << 8);
  return words;
}

/** Values that were written as shares of the largest. */
export function unscale(packed, bits = packed.bits) {
  const levels = unpack(packed.data, bits);
  const full = bits === 8 ? 255 : 65535;
  return Float64Array.from(levels, (level) => (level * packed.most) / full);
}

export const KINDS = ['root', 'thread root', 'partial', 'module', 'file', 'procedure', 'inlined', 'loop', 'call', 'line', 'region'];
const FRONTIER = 1;
const RUN_TIME = 8;

/** One of the three views: rows that stay, children in the order of a column. */
export class Tree {
  constructor(raw, texts, columns) {
    this.view = raw.view;
    this.raw = raw;
    this.texts = texts;
    this.columns = columns;
    this.size = raw.parent.length;
    this.leftOut = raw.left_out;
    this.left = new Map(raw.left.map(([row, count, value]) => [row, {count, value}]));
    this.below = Array.from({length: this.size}, () => null);
    this.roots = [];
    for (let row = 0; row < this.size; row += 1) {
      const parent = raw.parent[row];
      if (parent < 0) this.roots.push(row);
      else (this.below[parent] ??= []).push(row);
    }
    this.sorted = new Map();
    this.sort = 0;
  }

  name(row) {
    return this.texts[this.raw.name[row]];
  }
  fullName(row) {
    return this.texts[this.raw.full[row]];
  }
  remark(row) {
    return this.texts[this.raw.remark[row]];
  }
  file(row) {
    return this.texts[this.raw.file[row]];
  }
  line(row) {
    return this.raw.line[row];
  }
  kind(row) {
    return KINDS[this.raw.kind[row]];
  }
  isWait(row) {
    return (this.raw.flags[row] & FRONTIER) !== 0;
  }
  isRunTime(row) {
    return (this.raw.flags[row] & RUN_TIME) !== 0;
  }
  parent(row) {
    return this.raw.parent[row];
  }
  /** NaN where the figure does not exist. */
  value(row, column) {
    const list = this.raw.values[column];
    return list === null || list[row] === null ? NaN : list[row];
  }
  share(row, column) {
    const {whole} = this.columns[column];
    return whole > 0 ? this.value(row, column) / whole : 0;
  }

  /** Sorts siblings by a column, the largest first. */
  sortBy(column) {
    this.sort = column;
    this.sorted.clear();
  }
  inOrder(rows) {
    const key = (row) => {
      const value = this.value(row, this.sort);
      return Number.isNaN(value) ? -Infinity : value;
    };
    return [...rows].sort((a, b) => key(b) - key(a) || a - b);
  }
  children(row) {
    if (this.below[row] === null) return [];
    let found = this.sorted.get(row);
    if (!found) this.sorted.set(row, (found = this.inOrder(this.below[row])));
    return found;
  }
  hasChildren(row) {
    return this.below[row] !== null || this.left.has(row);
  }
  /** The rows from a root to this one. */
  path(row) {
    const path = [];
    for (let at = row; at >= 0; at = this.parent(at)) path.unshift(at);
    return path;
  }
  /** From `row` down, while the largest child keeps half of its parent's. */
  hotPath(row, column = this.sort) {
    const path = [row];
    for (let at = row; ; ) {
      let best = -1;
      for (const child of this.below[at] ?? [])
        if (best < 0 || this.value(child, column) > this.value(best, column)) best = child;
      if (best < 0 || !(this.value(best, column) >= 0.5 * this.value(at, column))) return path;
      path.push(best);
      at = best;
    }
  }
}

/** All that the page knows of the run. */
export class RunData {
  constructor(raw) {
    this.raw = raw;
    this.run = raw.run;
    this.texts = raw.texts;
    this.columns = raw.columns;
    this.columnsShown = raw.columns_shown;
    this.each = raw.run.ranks > 0 ? 'ranks' : 'threads'; // what values are over
    const [calls, callers, flat] = raw.trees.map((tree) => new Tree(tree, raw.texts, raw.columns));
    this.trees = {calls, callers, flat};
    this.treeNames = ['calls', 'callers', 'flat'];
    this.series = new Map();
    for (const [tree, row, role, ...packed] of raw.series.rows) this.series.set(`${tree}/${row}`, {role, packed});
    this.sourceOf = new Map(raw.sources.files.map((source, index) => [raw.texts[source.file], index]));
  }

  column(title) {
    return this.columns.findIndex((each) => each.title === title);
  }

  /**
   * A row's values over threads.
   * @returns {null|{role: object, groups: number, metrics: {name: string, unit: string, mean: Float64Array,
   *   least: Float64Array, most: Float64Array}[]}}
   */
  valuesOverRanks(treeName, row) {
    const found = this.series.get(`${this.treeNames.indexOf(treeName)}/${row}`);
    if (!found) return null;
    const role = this.raw.series.roles[found.role];
    const groups = Math.ceil(role.threads / role.per_group);
    const metrics = this.raw.series.metrics.map(({name, unit}, index) => {
      const packed = found.packed[index];
      const values = packed ? unscale({most: packed[0], data: packed[1]}, 16) : new Float64Array(groups * (role.per_group === 1 ? 1 : 3));
      const part = (which) => values.subarray(which * groups, (which + 1) * groups);
      const mean = part(0);
      return {name, unit, mean, least: role.per_group === 1 ? mean : part(1), most: role.per_group === 1 ? mean : part(2)};
    });
    return {role, groups, metrics};
  }

  /** What a group of threads is called. */
  threadLabel(role, group) {
    const {labels, per_group: size, threads} = role;
    const first = group * size;
    const last = Math.min(first + size, threads) - 1;
    const one = (index) => (labels ? labels[index] ?? `thread ${index}` : `rank ${index}`);
    if (first === last) return one(first);
    return labels ? `${one(first)} to ${one(last)}` : `ranks ${first}–${last}`;
  }
}

/** Reads what stands in the page. */
export function readRunData() {
  return new RunData(JSON.parse(document.getElementById('data').textContent));
}
