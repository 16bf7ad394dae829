// The diagnosis as `viewer-cli RUN report` puts it; parts of sentences lead to what they are about.

import {element} from './elements.js';
import {percent, tied} from './numbers.js';

/** The address of the place that a part of the report is about; null: none. */
export function addressOf(data, to) {
  if (!to) return null;
  if (to.tab === 'calls' && to.sort !== undefined) {
    const column = data.column(to.sort);
    return column < 0 ? null : `#calls/sort/${column}`;
  }
  if (to.tab === 'calls' || to.tab === 'flat') return to.row === null ? null : `#${to.tab}/${to.row}`;
  if (to.tab === 'time') return `#time/${to.rank}/${to.segment}`;
  return `#waits/${to.tab}`;
}

function partElement(data, part) {
  const address = addressOf(data, part.to);
  const text = tied(part.text);
  return address ? element('a', {href: address, text}) : element('span', {text});
}

/** The report's paragraphs. */
export function reportBody(data) {
  const body = element('div', {class: 'report'});
  let suspects = null;
  for (const paragraph of data.raw.report) {
    if (paragraph.tone !== 'suspect') suspects = null;
    else if (!suspects) body.append((suspects = element('div', {class: 'suspects'})));
    const parts = paragraph.parts.map((part) => partElement(data, part));
    if (paragraph.tone === 'suspect') {
      suspects.append(element('div', {class: 'suspect'}, element('span', {class: 'suspect-tag', text: 'suspect'}),
        ...parts.map((part, index) => element('span', {class: `suspect-${['name', 'work', 'worth'][index]}`}, part))));
      continue;
    }
    const indent = paragraph.indent > 0 ? ' indented' : '';
    body.append(element(paragraph.tone === 'verdict' ? 'h2' : 'p', {class: `${paragraph.tone}${indent}`}, ...parts));
  }
  return body;
}

/** Parallel efficiency and its factors, as bars. */
export function efficiencyBars(data) {
  const figures = data.raw.efficiency;
  if (!figures) return null;
  const box = element('section', {class: 'efficiency'}, element('h3', {text: 'Efficiency'}));
  for (const figure of figures) {
    const track = element('span', {class: 'track', 'aria-hidden': 'true'});
    const bar = element('span', {class: 'track-bar'});
    bar.style.width = `${Math.max(0, Math.min(100, 100 * figure.value))}%`;
    track.append(bar);
    const name = element('span', {class: 'efficiency-name', text: figure.name});
    name.style.paddingLeft = `${figure.level * 12}px`;
    box.append(element('div', {class: 'efficiency-row', title: `${figure.meaning}${figure.when_low ? `; low: ${figure.when_low}` : ''}`},
      name, track, element('span', {class: 'number', text: percent(figure.value, 0)})));
  }
  return box;
}

export class ReportTab {
  constructor(data) {
    const facts = element('dl', {class: 'facts'});
    for (const [name, text] of data.raw.facts) facts.append(element('dt', {text: name}), element('dd', {text: tied(text)}));
    this.node = element('div', {class: 'tab-body report-tab'}, reportBody(data),
      element('aside', {}, efficiencyBars(data), element('section', {}, element('h3', {text: 'Run'}), facts)));
  }
  draw() {}
}
