// The page: draw the view given by the address, and handle keys.

const page = document.getElementById('page');
let drawn = 0;

function topBar() {
  return el(
    'header.top',
    el('button', { class: 'skip', on: { click: showRecords } }, 'Skip to the records'),
    wordmark(),
    lookButton(),
  );
}

const parts = { first: el('div'), hurts: el('div'), more: el('div'), every: el('div') };
const overview = el('main.sheet', parts.first, parts.hurts, parts.more, recordsBox, parts.every);
/** The state for which the parts that no filter changes were last drawn. */
let drawnFor = '';

/** Draw the overview: the first screen, groups and scatter, the records and, for printing, the lowest of them. */
function drawOverview() {
  refill(parts.hurts, first.records ? whereItHurts() : null);
  drawRecords();
  const { by, of, x, y, sort, tab, layer } = now;
  const wanted = [by, of, x, y, sort, tab, layer, table.complete, table.position.length, first.worst.length].join('\n');
  if (wanted !== drawnFor) {
    drawnFor = wanted;
    refill(parts.first, overviewView());
    refill(parts.more, agreementSection(first.agreement), worstForPaper(), methodsBlock(), missingBlock());
    refill(parts.every, everyMetric());
  }
  // Never remove the table and its fields while the user types in them.
  if (!overview.isConnected) refill(page, topBar(), overview);
}

/**
 * Groups and the scatter plot; a group stands out if its whole interval is below the mean. Without two metrics to plot,
 * the groups have the whole width; if there are no fields either, there is no section.
 */
function whereItHurts() {
  const several = scored.length > 1;
  if (!scored.length || !(several || first.fields.length || first.ungrouped.length)) return null;
  const { groups } = first.fields.length && fieldsThere() && wholeTable() ? groupsKept(now.by, now.of) : { groups: [] };
  const title = `${groups.some((group) => group.weak) ? 'Weak groups' : 'Groups'}${several ? ' and metrics' : ''}`;
  const body = several
    ? el('div.pair', first.fields.length ? [groupsView(), scatterView()] : [scatterView(), groupsView()])
    : [groupsView(), el('p.note.screen', 'Only one metric has values; a plot of metrics needs two.')];
  return section(groups.length ? 'hurts' : 'hurts screen', 'hurts', title, body);
}

function worstForPaper() {
  if (!first.worst.length) return null;
  return el(
    'section.paper',
    el('h2', `Lowest ${spoken(first.ranked)}`),
    el(
      'table.plain',
      el(
        'tbody',
        first.worst.map((one) =>
          el(
            'tr',
            el('td.number', percent(one.value)),
            el(
              'td',
              el('b', foreign(shortened(one.id, 200))),
              el('p.written', foreign(one.question)),
              one.unit ? el('p.written', el('span', { class: `sign ${one.kind}` }, SIGNS[one.kind]), ' ', foreign(one.unit)) : null,
              one.reason ? el('p.note', foreign(one.reason)) : null,
            ),
          ),
        ),
      ),
    ),
  );
}

/** Draw the view given by the address. */
async function render() {
  const mine = ++drawn;
  const before = now;
  now = readState(location.hash);
  const focused = document.activeElement?.id;
  if (now.q) readTexts(came).catch(failed);
  if (now.record) {
    let found = null,
      trouble = '';
    try {
      found = await recordAt(now.record);
    } catch (error) {
      trouble = String(error.message || error);
    }
    if (mine !== drawn) return;
    const scrolled = [...document.querySelectorAll('.column')].map((column) => column.scrollTop);
    refill(page, topBar(), el('main.sheet', caseView(found, trouble)));
    if (before.record === now.record)
      document.querySelectorAll('.column').forEach((column, place) => (column.scrollTop = scrolled[place] || 0));
    document.title = seen(`${shortened(found?.id ?? `#${now.record}`, 120)} \u00b7 ${first.name}`);
    if (before.record !== now.record || drawn === 1) {
      scrollTo(0, 0);
      litIntoView(null);
      document.getElementById('record-title')?.focus({ preventScroll: true });
    } else if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    return;
  }
  if (first.live && now.q && now.q !== table.found.q && table.complete && overview.isConnected) {
    refill(said, 'Search \u00b7 reading texts'); // drawn once the server has returned the matches
    return;
  }
  const at = scrollY;
  drawOverview();
  document.title = seen(first.name);
  if (recordsWanted) {
    recordsWanted = false;
    recordsBox.scrollIntoView();
    document.getElementById('records-title')?.focus({ preventScroll: true });
  } else if (before.record && !now.record) {
    recordsBox.scrollIntoView();
    focusRow(before.record);
  } else {
    scrollTo(0, at);
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }
}

/** Redraw because more data has been loaded. */
function came() {
  redraw(update);
}

function update() {
  if (!now.record) render();
  else if (table.complete) redrawHead();
}

function failed(error) {
  document.getElementById('trouble')?.remove();
  page.prepend(el('p', { class: 'notice', id: 'trouble' }, foreign(String(error.message || error))));
  if (!now.record) drawRecords();
}

/** Go to the next or previous matching record, even while one is still being unpacked. @param {number} by */
function step(by) {
  const wanted = readState(location.hash);
  const order = matching(wanted);
  const line = order[order.indexOf(table.lines.get(wanted.record) ?? -1) + by];
  if (line !== undefined) location.hash = writeState({ ...wanted, record: table.position[line] });
}

/** @param {KeyboardEvent} event */
function keys(event) {
  const typing = event.target.closest?.('input, select, textarea');
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'Escape' && now.record) return go({ record: 0, tab: '', layer: '' });
  if (typing) return;
  if (now.record && (event.key === 'j' || event.key === 'k')) step(event.key === 'j' ? 1 : -1);
  if (!now.record && event.key === '/') {
    event.preventDefault();
    search.focus();
  }
}

addEventListener('hashchange', render);
addEventListener('keydown', keys);
render();
linesThere.then(() => performance.mark('rows'));
readRows(came).catch(failed);
