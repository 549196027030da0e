// The labelling page: start (annotator), one unit after another, and end. Each label is a single key.

const page = document.getElementById('page');
const labels = new Labels();

/** @type {[string, string][]} labels with their meanings, best first */
const SCALE = first.labels;
/** Keys that do something else. */
const TAKEN = ['u', 'e'];

/**
 * The key of each label: the last digit of a grade and the first letter of a word among grades. Words alone are numbered
 * from 1. If two keys would be the same, all are letters.
 * @param {string[]} names
 */
function keysOf(names) {
  if (!names.some((name) => /\d/.test(name))) return '1234567890';
  const own = names.map((name) => (/\d$/.test(name) ? name.slice(-1) : name[0].toLowerCase()));
  const apart = new Set([...own, ...TAKEN]).size === own.length + TAKEN.length;
  return apart && own.every((key) => /[a-z0-9]/.test(key)) ? own : 'abcdfghijk';
}

const KEYS = keysOf(SCALE.map(([label]) => label));
const CHOICES = [
  ...SCALE.map(([label, meaning], place) => ({ key: KEYS[place], label, meaning })),
  { key: '?', label: null, meaning: '' },
];

/** The unit being shown; -1 on the start and end screens. */
let here = -1;
let since = 0;
/** @type {{at: number, texts: any, passages: Passages | null}} the record being shown */
let drawn = { at: -1, texts: null, passages: null };
let turn = 0;
let saying = 0;
/** How long a message is shown, in milliseconds. */
const SAID = 5000;

const status = el('p', { class: 'status', role: 'status' });
const bar = el('div.done-bar');
const progress = el(
  'div',
  {
    class: 'progress',
    role: 'progressbar',
    'aria-label': 'Units labelled',
    'aria-valuemin': 0,
    'aria-valuemax': units.length,
  },
  bar,
);
const progressWords = el('span.number.soft');
const file = el('input', {
  type: 'file',
  id: 'file',
  accept: '.jsonl,.json,.txt',
  hidden: true,
  on: { change: () => readFile(file.files?.[0]) },
});
const exporting = el('button', { id: 'export', on: { click: exportLabels } }, 'Export');
const who = el('button', { class: 'plain', id: 'who', on: { click: showStart } });
const tools = el(
  'span.tools',
  who,
  el('button', { id: 'import', on: { click: () => file.click() } }, 'Import'),
  exporting,
);
const body = el('main.sheet.labelling');

/** The display name of a label. @param {string | null} label */
function spokenLabel(label) {
  return label === null ? 'cannot tell' : label.replaceAll('_', ' ');
}

// ---- the frame

/** Draw the number of labels and the label of the unit being shown. */
function drawProgress() {
  const done = labels.current.size;
  bar.style.setProperty('width', `${(100 * done) / units.length}%`);
  progress.setAttribute('aria-valuenow', String(done));
  const minutes = Math.ceil(((units.length - done) * labels.pace()) / 60);
  refill(
    progressWords,
    `${count(done)} of ${plural(units.length, first.unit)}`,
    minutes ? el('span.left-over', `, about ${count(minutes)} min left`) : null,
  );
  who.textContent = labels.annotator || 'no name';
  who.setAttribute('aria-label', `Annotator: ${labels.annotator || 'no name'}. Change`);
  for (const button of body.querySelectorAll('[data-key]')) {
    const chosen = CHOICES.find(({ key }) => key === button.getAttribute('data-key'));
    button.setAttribute('aria-pressed', String(labels.current.get(here) === chosen?.label));
  }
}

/** Show a message for a while, and a storage problem for as long as it lasts. @param {string} text */
function say(text) {
  clearTimeout(saying);
  refill(status, text, labels.unkept ? el('b.wrong', text ? ' ' : '', labels.unkept) : null);
  if (text) saying = setTimeout(() => say(''), SAID);
}

// ---- the start

function showStart() {
  leave();
  const value = labels.annotator || labels.last() || first.annotator;
  const name = el('input', { id: 'name', autocomplete: 'name', maxlength: 80, value });
  const { draw } = first;
  const worst = draw.mode === 'worst';
  const sampled = worst ? ': those on which judges disagree most or are least certain' : ', drawn at random';
  const records =
    draw.n < draw.of
      ? `${count(draw.n)} of ${plural(draw.of, 'scored record')}${sampled}.`
      : `All ${plural(draw.of, 'scored record')}, ${worst ? 'the least certain first' : 'in random order'}.`;
  const begin = (event) => {
    event.preventDefault();
    start(name.value.trim());
  };
  tools.hidden = true;
  progressWords.textContent = '';
  refill(
    body,
    el(
      'div.start',
      el('h1', { tabindex: -1 }, `Label ${plural(units.length, first.unit)}`),
      el('p.lead', first.asked),
      el('p.soft', `${records} You can stop after any record; those you have labelled still count.`),
      rubricList(false),
      rulesList(),
      el(
        'form',
        { on: { submit: begin } },
        el('label', { for: 'name' }, 'Your name'),
        name,
        el('button', { class: 'primary', id: 'start' }, labels.last() === null ? 'Start' : 'Continue'),
      ),
      el(
        'p.note',
        first.root
          ? `Your name is saved with each label. Labels are saved next to the store, in ${first.file}.`
          : 'Your name is saved with each label. Labels are kept only in this browser; export them to save a file.',
      ),
      keysList(),
    ),
  );
  name.focus();
}

/** @param {string} annotator */
async function start(annotator) {
  labels.known = false;
  labels.open(annotator);
  tools.hidden = false;
  say('');
  if (first.root) {
    await labels.fetched();
    labels.known = true;
    labels.send();
  }
  const next = labels.next(0);
  if (next === undefined) showEnd();
  else show(next);
}

/** The labels with their meanings, as text or as buttons. @param {boolean} pressed */
function rubricList(pressed) {
  return el(
    'ul.choices-list',
    CHOICES.filter(({ label }) => pressed || label !== null).map(({ key, label, meaning }) => {
      const parts = [
        el('kbd', { 'aria-hidden': 'true' }, key),
        el('b', { class: key === label ? 'unseen' : null }, spokenLabel(label)),
        meaning ? el('span.means', meaning) : null,
      ];
      const shortcut = { 'aria-keyshortcuts': key, 'data-key': key, 'aria-pressed': 'false' };
      return el('li', pressed ? el('button', { ...shortcut, on: { click: () => give(label) } }, parts) : parts);
    }),
  );
}

function rulesList() {
  if (!first.rules.length) return null;
  return el(
    'ul.rules',
    first.rules.map((rule) => el('li', rule)),
  );
}

const KEYS_TOLD = [
  [
    CHOICES.filter(({ label }) => label !== null)
      .map(({ key }) => key)
      .join(' '),
    'label',
  ],
  ['?', 'cannot tell'],
  ['u', 'undo'],
  ['\u2190 \u2192', 'previous, next'],
  ['/', 'search passages'],
  ['e', 'expand or collapse passages'],
];

function keysList() {
  const told = first.evidence === 'passages' || first.unit === 'passage' ? KEYS_TOLD : KEYS_TOLD.slice(0, 4);
  return el(
    'p.keys',
    told.map(([keys, what]) =>
      el(
        'span',
        keys.split(' ').map((key) => el('kbd', key)),
        ` ${what}`,
      ),
    ),
  );
}

// ---- one unit

/** Show a unit. @param {number} place */
async function show(place) {
  leave();
  const mine = ++turn;
  const unit = units[place];
  let texts = drawn.texts;
  if (drawn.at !== unit.at) {
    try {
      texts = await block(`record-${unit.at}`);
    } catch (error) {
      say(String(error.message || error));
      return;
    }
    if (mine !== turn) return; // a later key press took over
  }
  here = place;
  drawUnit(unit, texts);
  drawProgress();
  since = performance.now();
  if (unit.at + 1 < first.records.length) block(`record-${unit.at + 1}`);
}

/** @param {LabelUnit} unit @param {any} texts */
function drawUnit(unit, texts) {
  const shown = texts.units[unit.place];
  if (drawn.at !== unit.at || !body.querySelector('.work')) drawRecord(unit, texts);
  const of = texts.units.length > 1 ? ` ${unit.place + 1} of ${texts.units.length}` : '';
  const whole = shown.level === 'response' || shown.level === 'passage';
  const heading = el('h1', { id: 'unit', tabindex: -1 }, `${capital(first.unit)}${of}`);
  drawn.passages?.mark(shown.passage);
  refill(
    document.getElementById('card'),
    heading,
    whole
      ? el('p.unit-text.soft', shown.passage === null ? 'The whole response' : 'The passage marked in the list')
      : el('p', { class: 'unit-text', dir: 'auto' }, textOfUnit(texts, shown)),
    el('p.asked', first.asked),
  );
  const response = document.getElementById('response');
  if (response) refill(response, markedResponse(texts, shown));
  for (const mark of body.querySelectorAll('.unit-mark, .passage.labelled')) reveal(mark);
  body.querySelector('.left').scrollTop = 0;
  scrollTo(0, 0);
  heading.focus({ preventScroll: true });
}

/** The texts shared by all units of a record. @param {LabelUnit} unit @param {any} texts */
function drawRecord(unit, texts) {
  const passages = texts.contexts.length ? new Passages(texts.contexts) : null;
  drawn = { at: unit.at, texts, passages };
  const question = [
    el('h2', 'Question'),
    el('div', { class: 'prose question', dir: 'auto' }, texts.question || el('span.empty', 'none')),
  ];
  const box = { id: 'response', tabindex: 0, role: 'region', 'aria-label': 'Response' };
  // The relevance of a passage is judged by the question alone.
  const response = first.unit === 'passage' ? null : [el('h2', 'Response'), el('div', box)];
  const place = `Record ${unit.at + 1} of ${first.records.length} \u00b7 `;
  const right = passages ? 'Passages' : 'Question and response';
  refill(
    body,
    el(
      'div.work',
      el(
        'div',
        { class: 'column left', tabindex: 0, role: 'region', 'aria-label': 'Unit and labels' },
        el('p.place.note', place, foreign(shortened(unit.record, 60))),
        el('div', { id: 'card' }),
        rubricList(true),
        el('details.rules-box', el('summary', 'Rules'), rubricList(false), rulesList()),
        passages ? [question, response] : null,
        keysList(),
      ),
      el(
        'div',
        { class: 'column right', tabindex: 0, role: 'region', 'aria-label': right },
        passages ? [passages.head, passages.list] : [question, response],
      ),
    ),
  );
}

/** Scroll an element into view within its box, without scrolling the page. @param {Element} element */
function reveal(element) {
  for (const box of [element.closest('#response'), element.closest('.column')]) {
    if (!box || box.scrollHeight <= box.clientHeight + 4) continue;
    box.scrollTop += element.getBoundingClientRect().top - box.getBoundingClientRect().top - 64;
    return;
  }
}

/** Add the time spent on the current unit if it has no label yet. */
function addTime() {
  if (here >= 0 && !labels.current.has(here)) labels.spend(here, (performance.now() - since) / 1000);
  since = performance.now();
}

function leave() {
  addTime();
  here = -1;
}

/** @param {string | null} label */
function give(label) {
  if (here < 0) return;
  const unit = here;
  labels.give(unit, label, (performance.now() - since) / 1000);
  say(`${spokenLabel(label)} \u2013 u to undo`);
  const next = labels.next(unit + 1);
  if (next === undefined) showEnd();
  else show(next);
}

function undo() {
  const unit = labels.undo();
  if (unit === undefined) return say('No label to undo.');
  say('Label undone');
  show(unit);
}

/** @param {number} by */
function step(by) {
  const to = (here < 0 ? units.length : here) + by;
  if (to >= 0 && to < units.length) show(to);
  else if (to === units.length && labels.next(0) === undefined) showEnd();
}

// ---- the end, and files

function showEnd() {
  leave();
  turn += 1;
  drawn = { at: -1, texts: null, passages: null };
  const seconds = Object.values(labels.spent).reduce((sum, one) => sum + one, 0);
  const unsure = [...labels.current.values()].filter((label) => label === null).length;
  const heading = el('h1', { tabindex: -1 }, `Done: all ${plural(units.length, first.unit)} are labelled`);
  const time = seconds < 60 ? 'under a minute' : plural(Math.round(seconds / 60), 'minute');
  const each = `${Math.round(seconds / units.length)} s per ${first.unit}`;
  refill(
    body,
    el(
      'div.start.end',
      heading,
      el('p.soft', `${time}, ${each}${unsure ? `; cannot tell: ${unsure}` : ''}`),
      el('button', { class: 'primary', id: 'finish', on: { click: exportLabels } }, 'Export labels'),
      el('p', 'Then compare the judge with these labels:'),
      el('p', el('code', first.next.replace(first.file, labels.file()))),
      el('p.note', '\u2190 steps back through the labels; u undoes the last one.'),
    ),
  );
  drawProgress();
  heading.focus();
}

function exportLabels() {
  if (!labels.current.size) return say('There are no labels yet.');
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([labels.lines()], { type: 'application/jsonl' }));
  link.download = labels.file();
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  say(`${plural(labels.current.size, 'label')} exported to ${labels.file()}`);
}

/** @param {File | undefined} chosen */
async function readFile(chosen) {
  if (!chosen || tools.hidden) return;
  const told = labels.take(await chosen.text());
  file.value = '';
  const next = labels.next(Math.max(here, 0));
  if (next === undefined) showEnd();
  else await show(next);
  say(told);
}

// ---- keys

/** @param {KeyboardEvent} event */
function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || tools.hidden) return;
  if (event.target.closest?.('input')) return;
  // Keyboards of other alphabets have the same keys in the same places.
  const key = /^[!-~]/.test(event.key) ? event.key : event.code.replace('Key', '').toLowerCase();
  const chosen = CHOICES.find((one) => one.key === key);
  if (chosen) give(chosen.label);
  else if (key === 'u') undo();
  else if (key === 'ArrowRight') step(1);
  else if (key === 'ArrowLeft') step(-1);
  else if (key === 'e') drawn.passages?.openAll();
  else if (event.key === 'Escape') drawn.passages?.clear();
  else if (key === '/' && drawn.passages) drawn.passages.search.select();
  else return;
  event.preventDefault();
}

addEventListener('keydown', keys);
addEventListener('dragover', (event) => event.preventDefault());
addEventListener('drop', (event) => {
  event.preventDefault();
  readFile(event.dataTransfer?.files[0]);
});
document.addEventListener('visibilitychange', () => {
  if (document.hidden) addTime();
  since = performance.now();
});
addEventListener('pagehide', () => {
  labels.sending = false; // the answer to a request under way does not come any more
  labels.send();
});
// Take over labels from another tab with this page, so that neither overwrites the other.
addEventListener('storage', (event) => {
  if (tools.hidden || event.key !== labels.key) return;
  labels.open(labels.annotator);
  drawProgress();
});
document.title = seen(first.name);
refill(page, el('header.frame', el('div.top', wordmark(), progressWords, tools, lookButton()), progress), body, status, file);
const known = labels.last() ?? (first.annotator || null);
if (known === null) showStart();
else start(known);
