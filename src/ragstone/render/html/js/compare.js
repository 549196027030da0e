// The page of two compared runs: differences, their significance, caveats, and changed records.

const page = document.getElementById('page');

function runsTable() {
  return el(
    'dl.runs',
    first.sides.map((side, place) => [
      el('dt', el('span', { class: place ? 'dot after' : 'dot before', 'aria-hidden': 'true' }), foreign(side.place)),
      el(
        'dd',
        first.root
          ? el('a', { class: 'name', href: `${first.root}run/${side.run}/` }, foreign(side.name))
          : el('bdi.name', side.name),
        el(
          'span.soft',
          foreign(
            [
              side.started === null ? '' : moment(side.started),
              plural(side.records, 'record'),
              side.judge ? `judge: ${shortJudged(side.judge.split(', '))}` : '',
            ]
              .filter(Boolean)
              .join(' \u00b7 '),
          ),
        ),
      ),
    ]),
    el('dt', 'paired'),
    el('dd', foreign(pairedInWords())),
  );
}

/** The number of records in both runs, and in one run only. */
function pairedInWords() {
  const alone = first.sides
    .map((side, place) => (first.alone[place] ? `${count(first.alone[place])} only in ${side.label}` : ''))
    .filter(Boolean);
  const differ = first.shared - first.same_responses;
  const texts = differ
    ? `${plural(differ, 'response')} ${differ === 1 ? 'differs' : 'differ'}`
    : 'the responses are the same';
  return [`${plural(first.shared, 'record')} in both, matched by id`, ...alone, texts].join(' \u00b7 ');
}

/** @param {string} title @param {string} id @param {string[]} lines @param {string} kind */
function listed(title, id, lines, kind) {
  if (!lines.length) return null;
  const items = lines.map((line) => el('li', foreign(line)));
  return section(kind, id, title, el('ul', items));
}

function comparisonView() {
  const [before, after] = first.sides;
  return el(
    'main.sheet.compare',
    el(
      'section',
      { class: 'told', 'aria-labelledby': 'title' },
      el(
        'header.title',
        el(
          'h1',
          { id: 'title', tabindex: '-1' },
          foreign(after.name),
          el('span.against', ' compared with '),
          foreign(before.name),
        ),
        runsTable(),
      ),
      el('p.sentence', foreign(first.headline)),
    ),
    listed('Before you rely on these results', 'warnings', first.warnings, 'notice'),
    section(
      'metrics',
      'differences',
      'What differs',
      differencesTable(),
      el(
        'ul.quiet',
        bandNote(),
        first.notes.map((note) => el('li', foreign(note))),
      ),
    ),
    groupsTable(),
    movedSection(),
    listed('Not compared', 'left-out', first.left_out, 'left-out-list'),
    el('footer.quiet', `Made by Ragstone ${first.ragstone}. No judge was called.`),
  );
}

function bandNote() {
  return first.metrics.some((one) => shownBand(one))
    ? el(
        'li',
        'The grey band is the smallest detectable difference: a true difference inside it is found less than 80% of the time.',
      )
    : null;
}

/** Scroll to the records of a metric if the address requests them. */
async function followAddress() {
  await drawMoved();
  if (location.hash.startsWith('#moved=')) document.getElementById('moved')?.scrollIntoView();
}

/** @param {KeyboardEvent} event */
function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.('input, select, textarea')) return;
  if (event.key === 'j' || event.key === 'k') stepMoved(event.key === 'j' ? 1 : -1);
}

refill(page, el('header.top', wordmark(), lookButton()), comparisonView());
addEventListener('hashchange', followAddress);
addEventListener('keydown', keys);
followAddress();
