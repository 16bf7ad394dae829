// The page: tabs, addresses behind `#`, keys. Everything else is in the module that is named for it.

import {element, clear, showTip} from './elements.js';
import {readRunData} from './run_data.js';
import {quantity, counted} from './numbers.js';
import {restoreTheme, switchTheme, onThemeChange, lightForPaper} from './theme.js';
import {ReportTab} from './report_tab.js';
import {TreeTab} from './tree_tab.js';
import {FlameTab} from './flame_tab.js';
import {RanksTab} from './ranks_tab.js';
import {TimeTab} from './time_tab.js';
import {WaitsTab} from './waits_tab.js';
import {SourceTab} from './source_tab.js';
import {fillPaper} from './paper.js';
import {keysDialog} from './keys.js';

const TITLES = {report: 'Report', calls: 'Calls', callers: 'Callers', flat: 'Flat', flame: 'Flame', ranks: 'Ranks', time: 'Time', waits: 'Waits', source: 'Source'};

class Page {
  constructor(data) {
    this.data = data;
    this.chosen = {tree: 'calls', row: 0};
    this.made = {};
    this.current = null;
    this.makers = {
      report: () => new ReportTab(data),
      calls: () => new TreeTab(data, 'calls', (tree, row) => this.note(tree, row)),
      callers: () => new TreeTab(data, 'callers', (tree, row) => this.note(tree, row)),
      flat: () => new TreeTab(data, 'flat', (tree, row) => this.note(tree, row)),
      flame: () => new FlameTab(data, (to) => this.go(to)),
      ranks: () => new RanksTab(data, (to) => this.go(to)),
      time: () => new TimeTab(data, (to) => this.go(to)),
      waits: () => new WaitsTab(data, (to) => this.go(to)),
      source: () => new SourceTab(data),
    };
    this.keys = keysDialog();
    this.main = element('main', {id: 'main'});
    this.tabs = element('nav', {class: 'tabs', role: 'tablist', 'aria-label': 'parts of the page'});
    Object.entries(TITLES).forEach(([name, title], index) => {
      this.tabs.append(element('a', {href: `#${name}`, role: 'tab', id: `tab-${name}`, 'aria-controls': 'main'}, element('kbd', {text: String(index + 1), 'aria-hidden': 'true'}), name === 'ranks' && data.run.ranks === 0 ? 'Threads' : title));
    });
  }

  header() {
    const {run} = this.data;
    const facts = [run.ranks > 0 ? counted(run.ranks, 'rank') : null, run.threads !== run.ranks ? counted(run.threads, 'thread') : null, run.duration_s > 0 ? quantity(run.duration_s, 's') : null, run.mpi || null, run.start ? run.start.replace('T', ' ').replace(/:\d\dZ$/, ' UTC') : null].filter(Boolean);
    return element('header', {},
      element('h1', {text: run.program}),
      element('p', {class: 'run-line', text: facts.join(' · ')}),
      element('span', {class: 'spacer'}),
      element('button', {type: 'button', class: 'quiet', text: 'keys', title: '? shows the keys', onclick: () => this.keys.showModal()}),
      element('button', {type: 'button', class: 'quiet', text: 'light / dark', title: 't', onclick: switchTheme}));
  }

  start() {
    document.title = `${this.data.run.program} · Culprit`;
    const page = document.getElementById('page');
    page.append(element('a', {class: 'skip', href: '#main', text: 'to the content', onclick: (event) => { event.preventDefault(); this.main.focus(); }}),
      this.header(), this.tabs, this.main,
      element('footer', {text: `Culprit ${this.data.run.version} · ${this.data.run.database} · times are summed over ranks and threads unless said otherwise`}), this.keys);
    window.addEventListener('hashchange', () => this.follow());
    document.addEventListener('keydown', (event) => this.key(event));
    document.addEventListener('scroll', () => showTip(null), {passive: true});
    onThemeChange(() => this.made[this.current]?.draw());
    let coloursBack = () => {};
    window.addEventListener('beforeprint', () => {
      coloursBack = lightForPaper();
      fillPaper(document.getElementById('paper'), this.data, {calls: this.tab('calls'), flat: this.tab('flat')});
    });
    window.addEventListener('afterprint', () => {
      clear(document.getElementById('paper'));
      coloursBack();
    });
    this.follow();
  }

  tab(name) {
    this.made[name] ??= this.makers[name]();
    return this.made[name];
  }
  note(tree, row) {
    this.chosen = {tree, row};
    if (this.current === tree) history.replaceState(null, '', `#${tree}/${row}`);
  }
  go(address) {
    // At once: the next key is for the tab that is shown then.
    if (location.hash !== `#${address}`) history.pushState(null, '', `#${address}`);
    this.follow();
  }

  /** Shows what the address names. */
  follow() {
    showTip(null);
    const [name, ...rest] = location.hash.slice(1).split('/');
    const tab = TITLES[name] ? name : 'report';
    const shown = this.tab(tab);
    if (this.current !== tab) {
      this.current = tab;
      clear(this.main).append(shown.node);
      this.main.dataset.tab = tab;
      for (const link of this.tabs.children) link.setAttribute('aria-selected', String(link.id === `tab-${tab}`));
      document.getElementById(`tab-${tab}`).scrollIntoView({block: 'nearest', inline: 'nearest'});
      window.scrollTo(0, 0);
    }
    this.place(tab, shown, rest);
  }

  place(tab, shown, rest) {
    const number = (text) => (/^\d+$/.test(text ?? '') ? Number(text) : null);
    const isRow = (tree, row) => this.data.trees[tree] && row !== null && row < this.data.trees[tree].size;
    if (['calls', 'callers', 'flat'].includes(tab)) {
      const column = rest[0] === 'sort' ? number(rest[1]) : null;
      shown.draw();
      if (column !== null && column < this.data.columns.length) {
        shown.view.sortBy(column);
        shown.view.go(shown.view.outline.openHotPath(shown.view.outline.roots()[0]));
      } else if (isRow(tab, number(rest[0]))) {
        if (number(rest[0]) !== shown.view.chosen) shown.view.go(number(rest[0]));
        else shown.view.intoSight();
        this.chosen = {tree: tab, row: number(rest[0])};
      }
      shown.focus();
      return;
    }
    if (tab === 'flame' && ['calls', 'callers'].includes(rest[0]) && isRow(rest[0], number(rest[1]))) {
      shown.show(rest[0] === 'callers', number(rest[1]));
      return;
    }
    if (tab === 'ranks') {
      if (isRow(rest[0], number(rest[1]))) this.chosen = {tree: rest[0], row: number(rest[1])};
      else if (this.chosen.row === 0) this.chosen = {tree: 'calls', row: Math.max(0, this.tab('calls').view.chosen)};
      shown.show(this.chosen);
    }
    if (tab === 'waits' && rest[0]) {
      shown.show(rest[0]);
      return;
    }
    if (tab === 'source' && this.data.raw.sources.files[number(rest[0])]) {
      shown.show(number(rest[0]), number(rest[1]) ?? 0);
      return;
    }
    shown.draw();
    if (tab === 'time' && number(rest[0]) !== null && number(rest[1]) !== null) shown.showSegment(number(rest[0]), number(rest[1]));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.keys.open) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.key !== 'Escape') return;
    const shown = this.made[this.current];
    const names = Object.keys(TITLES);
    const step = (by) => this.go(names[(names.indexOf(this.current) + by + names.length) % names.length]);
    const actions = {
      '/': () => shown.field?.focus(),
      n: () => shown.next?.(1),
      N: () => shown.next?.(-1),
      t: switchTheme,
      '?': () => this.keys.showModal(),
      s: () => this.toSource(),
      r: () => this.go(`ranks/${this.chosen.tree}/${this.chosen.row}`),
      g: () => this.go(this.chosen.tree === 'flat' ? 'flame' : `flame/${this.chosen.tree}/${this.chosen.row}`),
      '{': () => step(-1),
      '}': () => step(1),
      B: () => history.back(),
    };
    if (/^[1-9]$/.test(event.key)) actions[event.key] = () => this.go(names[Number(event.key) - 1]);
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  toSource() {
    const tree = this.data.trees[this.chosen.tree];
    const file = this.data.sourceOf.get(tree.file(this.chosen.row));
    this.go(file === undefined ? 'source' : `source/${file}/${tree.line(this.chosen.row)}`);
  }
}

restoreTheme();
new Page(readRunData()).start();
document.documentElement.dataset.ready = 'yes';
