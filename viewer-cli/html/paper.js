// What is printed: everything that can be read without clicking, one section after the other, in the colours of paper.

import {element, clear} from './elements.js';
import {reportBody, efficiencyBars} from './report_tab.js';
import {listTable} from './waits_tab.js';
import {scaleFor} from './numbers.js';
import {rankPlot, rankSummary} from './rank_plot.js';
import {FlameTab} from './flame_tab.js';
import {TimeTab} from './time_tab.js';

const ROWS = 45;
const LIST_ROWS = 12;

function section(title, ...content) {
  return element('section', {}, element('h2', {text: title}), ...content);
}

/** The rows that are open, or of a view nobody opened the first ones, with the columns that are shown. */
function treeTable(data, view) {
  const {tree} = view;
  const columns = view.columns;
  const longest = Math.max(...columns.filter((each) => data.columns[each].unit === 's').map((each) => data.columns[each].whole), 0);
  const scales = columns.map((each) => scaleFor(data.columns[each].unit === 's' ? longest : data.columns[each].whole, data.columns[each].unit));
  const table = element('table', {class: 'figures paper-tree'});
  table.append(element('tr', {}, ...columns.map((each, index) => element('th', {class: 'number', text: `${data.columns[each].heading} ${scales[index].unit}`})), element('th', {text: tree.view})));
  for (const {row, depth} of view.outline.rows.slice(0, ROWS)) {
    if (row < 0) continue;
    const name = element('td', {}, element('span', {class: tree.isWait(row) ? 'wait' : '', text: tree.name(row)}), element('span', {class: 'remark', text: ` ${tree.remark(row)}`}));
    name.style.paddingLeft = `${6 + depth * 8}px`;
    table.append(element('tr', {}, ...columns.map((each, index) => {
      const value = tree.value(row, each);
      return element('td', {class: 'number', text: Number.isNaN(value) || value === 0 ? '' : scales[index].write(value)});
    }), name));
  }
  return table;
}

/** The flame graph and the first map over time; `paper` is laid out, as wide as a page. */
function drawPictures(paper, data) {
  const flame = new FlameTab(data, () => {});
  paper.append(section('Time by calling context', flame.graph, flame.legend()));
  flame.draw();
  const time = new TimeTab(data, () => {});
  if (time.maps.length === 0) return;
  for (const choice of [0, 1].filter((each) => each < time.maps.length)) {
    const map = new TimeTab(data, () => {});
    paper.append(section(`Ranks over time: ${map.maps[choice].text}`, map.title, map.heat.node, map.legend));
    map.show(choice);
  }
}

/** Fills `paper`; `tabs` are those of the page, whose choices it follows. */
export function fillPaper(paper, data, tabs) {
  clear(paper);
  paper.classList.add('filling');
  const {run} = data;
  const facts = element('dl', {class: 'facts'});
  for (const [name, text] of data.raw.facts) facts.append(element('dt', {text: name}), element('dd', {text}));
  paper.append(element('h1', {text: `${run.program}: where it waits, and why`}), reportBody(data), efficiencyBars(data) ?? '', section('Run', facts));
  for (const name of ['calls', 'flat']) paper.append(section(name === 'calls' ? 'Calls' : 'Flat', treeTable(data, tabs[name].view)));
  drawPictures(paper, data);
  const {chosen} = tabs.calls.view;
  const values = chosen >= 0 ? data.valuesOverRanks('calls', chosen) : null;
  if (values) {
    paper.append(section(`${data.trees.calls.name(chosen)} over ${data.each}`,
      rankPlot(data, values, {metric: 0, sorted: false, width: 660, height: 150, label: ''}), element('p', {text: rankSummary(data, values, 0)})));
  }
  const titles = {waits: 'Waits', causes: 'Causes', critical: 'Critical path', hotspots: 'Hot procedures'};
  for (const [key, title] of Object.entries(titles)) {
    const list = data.raw.lists[key];
    if (list && list.rows.length > 0) paper.append(section(title, element('p', {text: list.introduction}), listTable(data, list, LIST_ROWS)));
  }
  paper.classList.remove('filling');
}
