// Create elements. Everything from a record becomes a text node, never markup. Links lead only within the page or to
// other pages of the same server.

/**
 * @typedef {Node | string | number | null | undefined | false | any[]} Child
 * @typedef {Record<string, any>} Attributes `on` maps events to listeners, `css` properties to values.
 */

const LINK = /^(#.*|\.\/|(\.\.\/)+|(\.\/|(\.\.\/)+)(run\/\d+\/(label\/)?|compare\/\d+\/\d+\/)(#.*)?)$/;
const SVG = 'http://www.w3.org/2000/svg';

/**
 * Create an HTML element; `p.note` has a class. Attributes, if any, precede the children.
 * @param {string} selector
 * @param {...(Attributes | Child | Child[])} given
 */
function el(selector, ...given) {
  return made(selector, given, (name) => document.createElement(name));
}

/**
 * Create an SVG element.
 * @param {string} selector
 * @param {...(Attributes | Child | Child[])} given
 */
function draw(selector, ...given) {
  return made(selector, given, (name) => document.createElementNS(SVG, name));
}

/** @param {string} selector @param {any[]} given @param {(name: string) => Element} make */
function made(selector, given, make) {
  const [name, ...classes] = selector.split('.');
  const [start] = given;
  const attributed = start && typeof start === 'object' && !(start instanceof Node) && !Array.isArray(start);
  const element = make(name);
  if (classes.length) element.setAttribute('class', classes.join(' '));
  return filled(element, attributed ? start : null, attributed ? given.slice(1) : given);
}

/** @param {any} element @param {Attributes | null | undefined} attributes @param {(Child | Child[])[]} children */
function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'on') for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (name === 'css')
      for (const [property, given] of Object.entries(value)) element.style.setProperty(property, given);
    else if (name.startsWith('on') || name === 'style') throw new Error(`no attribute ${name}`);
    else if (name === 'href' && !LINK.test(String(value))) throw new Error('links stay in the page');
    else if (name === 'title' || name === 'aria-label') element.setAttribute(name, seen(String(value)));
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false)
      element.append(child instanceof Node ? child : seen(String(child)));
  }
  return element;
}

/**
 * Make invisible direction controls visible. Each is replaced with a single sign, so that positions in the text stay
 * the same. Otherwise, a response could look different from the text that was judged.
 * @param {string} text
 */
function seen(text) {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, '\u21c4');
}

/**
 * Untrusted text, isolated so that its direction cannot affect the surrounding text.
 * @param {any} text
 * @param {Attributes} [attributes]
 */
function foreign(text, attributes) {
  return el('bdi', attributes, String(text ?? ''));
}

const RIGHT_TO_LEFT =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;

/**
 * The direction of a text that is drawn in parts, from its first letter. `dir="auto"` ignores parts that have their own
 * direction, so it does not work for a response whose sentences are all marked.
 * @param {string} text
 */
function directionOf(text) {
  return RIGHT_TO_LEFT.test(/\p{L}/u.exec(text)?.[0] ?? '') ? 'rtl' : 'ltr';
}

/**
 * The head of a table: one row of these cells. Roles are explicit, because on narrow screens some tables are not
 * displayed as tables.
 * @param {...(Child | Child[])} cells
 */
function tableHead(...cells) {
  const row = el('tr', { role: 'row' }, cells);
  for (const cell of row.children) cell.setAttribute('role', 'columnheader');
  return el('thead', { role: 'rowgroup' }, row);
}

/** The title of a column. @param {Child | Child[]} title @param {string | null} [kind] the class of its cells */
function columnHead(title, kind = null) {
  return el('th', { scope: 'col', class: kind }, title);
}

/** A row: its header and its cells. @param {Child | Child[]} head @param {...(Child | Child[])} cells */
function tableRow(head, ...cells) {
  return el('tr', el('th', { scope: 'row' }, head), cells);
}

/** A box that scrolls if wider than the page. @param {string} label @param {...(Child | Child[])} children */
function wide(label, ...children) {
  return el('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': label }, children);
}

/**
 * A section labelled by its heading.
 * @param {string} kind @param {string} id @param {Child | Child[]} title @param {...(Child | Child[])} children
 */
function section(kind, id, title, ...children) {
  return el('section', { class: kind, 'aria-labelledby': id }, el('h2', { id }, title), children);
}

/**
 * The id of a record as a heading of at most two lines, with a button to show all of a longer one. The text is complete
 * in any case, so that the whole id is copied.
 * @param {string} name @param {Attributes} attributes @param {string} id
 */
function idHeading(name, attributes, id) {
  const head = el(name, { ...attributes, class: 'brief', title: shortened(id, 1000) }, foreign(id));
  const unfold = () => {
    const whole = head.classList.toggle('whole');
    more.textContent = whole ? 'Show less' : 'Show full id';
    more.setAttribute('aria-expanded', String(whole));
  };
  const more = el(
    'button',
    { class: 'plain note screen', hidden: true, 'aria-expanded': 'false', on: { click: unfold } },
    'Show full id',
  );
  new ResizeObserver(() => {
    if (!head.classList.contains('whole')) more.hidden = head.scrollHeight <= head.clientHeight;
  }).observe(head);
  return [head, more];
}

/** The beginning of a quote with its place. @param {string} text @param {Child} place */
function quoted(text, place) {
  return el('p.quote', '\u201c', foreign(shortened(text, 400)), '\u201d ', el('span.note', place));
}

/** The turns before a question, folded if long. @param {string | undefined} text @param {string} [where] */
function earlierTurns(text, where = '') {
  return text
    ? el(
        'details',
        { class: 'earlier', open: text.length < 500 },
        el('summary', foreign(`Earlier in the conversation${where}`)),
        el('div', { class: 'prose', dir: 'auto' }, text),
      )
    : null;
}

/** Text for screen readers only. @param {string} text */
function unseen(text) {
  return el('span.unseen', text);
}

/** Replace the children of an element. @param {Element} element @param {...(Child | Child[])} children */
function refill(element, ...children) {
  element.replaceChildren();
  return filled(element, null, children);
}

/**
 * A drop-down list.
 * @param {string} label
 * @param {[string, string][]} choices value and text
 * @param {string} chosen
 * @param {(value: string) => void} then
 */
function choice(label, choices, chosen, then) {
  const select = el(
    'select',
    { id: `choose-${label.toLowerCase()}`, on: { change: () => then(select.value) } },
    choices.map(([value, text]) => el('option', { value, selected: value === chosen }, text)),
  );
  return el('label.choice', el('span', label), select);
}

/**
 * Move the tab stop within a group of elements to the wanted one and focus it; prevent the key's default action.
 * @param {KeyboardEvent} event @param {any[]} elements @param {any} wanted
 */
function rove(event, elements, wanted) {
  for (const one of elements) one.tabIndex = one === wanted ? 0 : -1;
  wanted.focus();
  event.preventDefault();
}

/**
 * Wrap a function to cache its last result for as long as its arguments and the value of `state` are the same.
 * @template T @param {(...given: any[]) => T} find @param {() => any} [state] @returns {(...given: any[]) => T}
 */
function remembering(find, state = () => '') {
  let key = '';
  /** @type {any} */
  let found = null;
  return (...given) => {
    const wanted = JSON.stringify([given, state()]);
    if (key !== wanted) [key, found] = [wanted, find(...given)];
    return found;
  };
}

/** A text shortened to at most `most` characters. @param {string} text @param {number} most */
function shortened(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}\u2026` : text;
}

/** Capitalize the first letter. @param {string} words */
function capital(words) {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
