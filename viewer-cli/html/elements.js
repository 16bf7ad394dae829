// Elements of the page. Names from the measured program come in as text only: nothing here takes markup.

/**
 * Makes an element.
 * @param {string} tag
 * @param {Object<string, any>} [properties] `class`, `text`, `onclick` and the like, else attributes; null: left out
 * @param {...(Node|string|null)} children
 * @returns {HTMLElement}
 */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'text') made.textContent = value;
    else if (name === 'class') made.className = value;
    else if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children) if (child !== null && child !== undefined) made.append(child);
  return made;
}

/** Takes away all that is inside. */
export function clear(node) {
  node.replaceChildren();
  return node;
}

/**
 * A row of buttons of which one is pressed.
 * @param {string} label what they choose, for those who do not see them
 * @param {{key: any, text: string, title?: string}[]} choices
 * @param {any} chosen
 * @param {(key: any) => void} onChoice
 */
export function segmented(label, choices, chosen, onChoice) {
  const group = element('div', {class: 'segmented', role: 'group', 'aria-label': label});
  for (const choice of choices) {
    const button = element('button', {
      type: 'button',
      text: choice.text,
      title: choice.title ?? null,
      'aria-pressed': String(choice.key === chosen),
      onclick: () => {
        for (const other of group.children) other.setAttribute('aria-pressed', String(other === button));
        onChoice(choice.key);
      },
    });
    group.append(button);
  }
  return group;
}

/** A labelled select. */
export function dropdown(label, choices, chosen, onChoice) {
  const select = element('select', {'aria-label': label, onchange: () => onChoice(choices[select.selectedIndex].key)});
  for (const choice of choices)
    select.append(element('option', {text: choice.text, selected: choice.key === chosen || null}));
  return select;
}

const tip = element('div', {class: 'tip', role: 'status', hidden: true});

/** Shows lines of text beside the pointer; none: hides them. */
export function showTip(lines, x = 0, y = 0) {
  if (!lines || lines.length === 0) {
    tip.hidden = true;
    return;
  }
  if (!tip.isConnected) document.body.append(tip);
  clear(tip);
  lines.forEach((line, index) => tip.append(element('div', {class: index === 0 ? 'tip-first' : '', text: line})));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = Math.min(x + 14, window.innerWidth - box.width - 6);
  const below = y + 16 + box.height < window.innerHeight;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${below ? y + 16 : Math.max(4, y - box.height - 10)}px`;
}
