// Rendering in the child process: the same emails as in place, bounds on time and memory, turns between workspaces,
// and a child that may die.
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { createRenderer, renderInPlace } from '../../../mail/content/renderer.ts'
import { failureText, renderEmail } from '../../../mail/content/template.ts'
import { eventually } from '../../setup/eventually.ts'

const quiet = { warn: () => undefined }
const renderer = createRenderer(quiet)
afterAll(() => renderer.close())

const inHtml = (html: string) => ({ subject: 's', html, text: null })
/** Too much for the time of a second try. */
const FOR_EVER =
  '{% for i in (1..99999) %}{% for j in (1..99999) %}{% if i == j %}{% endif %}{% endfor %}{% endfor %}'
/** Needs the child, and is done at once. */
const LOOP = '{% for tag in tags %}<i>{{ tag }}</i>{% endfor %}'
const SECONDS = 1_000

async function render(html: string, vars = {}, workspaceId = 'ws') {
  const rendered = await renderer.render(workspaceId, inHtml(html), { vars })
  return rendered.ok ? rendered.html : failureText(rendered)
}

test(
  'in place and through the child: the same, for any cheap template and any values',
  async () => {
    const name = fc.constantFrom(
      'a',
      'b.c',
      'b["c"]',
      'list[0]',
      'list.last',
      'gone',
      '"x"',
      '12',
      'b',
      'list.size',
      'list.length',
      'odd',
      'odd.length',
      'odd.size',
      'odd.first',
      'odd["last"]',
      'odd.first.length',
    )
    const filter = fc.constantFrom(
      'upcase',
      'escape',
      'append: a',
      'default: "d"',
      'truncate: 3',
      'join: "-"',
      'first',
      'last',
      'plus: 2',
      'divided_by: 3',
      'date: "%Y %j"',
      'size',
      'url_encode',
      'strip',
      'newline_to_br',
      'capitalize',
      'raw',
    )
    const output = fc
      .tuple(name, fc.array(filter, { maxLength: 4 }))
      .map(([from, filters]) => `{{ ${[from, ...filters].join(' | ')} }}`)
    const operator = fc.constantFrom('==', '!=', '<', '>=', 'contains', 'and', 'or')
    const condition = fc.tuple(name, operator, name).map((words) => words.join(' '))
    const piece = fc.oneof(
      output,
      fc.constantFrom('text ', '<b>', '\n', '{% raw %}{{{% endraw %}'),
      fc
        .tuple(fc.constantFrom('if', 'unless'), condition, output, output)
        .map(([tag, when, yes, no]) => `{% ${tag} ${when} %}${yes}{% else %}${no}{% end${tag} %}`),
    )
    const source = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''))
    const value = fc
      .jsonValue({ maxDepth: 2 })
      .map((json): unknown => JSON.parse(JSON.stringify(json)))
    const vars = fc.record({
      a: value,
      b: fc.record({ c: value }),
      list: fc.array(value, { maxLength: 4 }),
      // Names that mean something else for lists and texts.
      odd: fc.record(
        { length: value, size: value, first: value, last: value },
        { requiredKeys: [] },
      ),
    })
    let cheap = 0
    await fc.assert(
      fc.asyncProperty(source, vars, async (html, values) => {
        const parts = { subject: html, html, text: html, preview_text: html }
        const scope = { vars: JSON.parse(JSON.stringify(values)) }
        const expected = renderEmail(parts, scope)
        const inPlace = renderInPlace(parts, scope)
        // Null where many dates are written, since one each takes long enough to count.
        if (inPlace) expect(inPlace).toEqual(expected)
        cheap += inPlace ? 1 : 0
        // A loop that runs never is enough to send the rest to the child.
        const behind = '{% for never in gone_too %}{% endfor %}'
        const guarded = { ...parts, html: html + behind }
        expect(renderInPlace(guarded, scope)?.ok ?? null).not.toBe(true)
        expect(await renderer.render('ws', guarded, scope)).toEqual(expected)
      }),
      { numRuns: 100 },
    )
    expect(cheap).toBeGreaterThan(50)
  },
  120 * SECONDS,
)

test(
  'what is too slow is tried twice, and known when it is asked for again',
  async () => {
    const parts = { subject: 's', html: 'fine', text: FOR_EVER }
    const begin = performance.now()
    const failure = { ok: false, kind: 'too_slow', part: 'text', ms: 5_000 }
    const attempt = () => renderer.render('slow', parts, { unsubscribe_url: 'https://u.test/1' })
    let first = await attempt()
    // A machine that has too little time for it says so, a few times at most.
    while (!first.ok && first.kind === 'busy') first = await attempt()
    expect(first).toEqual(failure)
    expect(performance.now() - begin).toBeGreaterThan(5_400)
    const again = performance.now()
    expect(await renderer.render('slow', parts, { unsubscribe_url: 'https://u.test/2' })).toEqual(
      failure,
    )
    expect(performance.now() - again).toBeLessThan(500)
  },
  120 * SECONDS,
)

test(
  'one workspace with many slow templates: another one does not wait for them',
  async () => {
    const own = createRenderer(quiet)
    expect(await own.render('calm', inHtml(LOOP), { vars: { tags: [0] } })).toMatchObject({
      ok: true,
    })
    // One after the other they take at least ten seconds.
    const slow = Array.from({ length: 20 }, (_, i) => own.render('flood', inHtml(FOR_EVER + i), {}))
    for (let i = 1; i <= 8; i++) {
      const begin = performance.now()
      const rendered = await own.render('calm', inHtml(LOOP), { vars: { tags: [i] } })
      expect(rendered).toMatchObject({ ok: true, html: `<i>${i}</i>` })
      expect(performance.now() - begin).toBeLessThan(10 * SECONDS)
    }
    await own.close()
    // Those that were not tried to the end may be tried again.
    expect((await Promise.all(slow)).filter(({ ok }) => ok)).toEqual([])
  },
  120 * SECONDS,
)

test(
  'what takes too much memory fails, and nothing else does',
  async () => {
    // Each name that is missing is kept, and none of them is the result of a filter.
    const growing = '{% for i in (1..4000) %}{{ gone[long][i] }}{% endfor %}'
    // Where the machine is busy, collecting the memory takes too long before there is too much of it.
    const [large, ...others] = await Promise.all([
      render(growing, { long: 'x'.repeat(50_000) }, 'large'),
      ...Array.from({ length: 20 }, (_, i) => render(LOOP, { tags: [i] }, `ws${i}`)),
    ])
    expect(large).toMatch(/over 64 MB of memory|ended the process|over 5 s/)
    expect(others).toEqual(others.map((_, i) => `<i>${i}</i>`))
  },
  120 * SECONDS,
)

test(
  'a child that is killed while it renders: everything is answered',
  async () => {
    await render(LOOP, { tags: [0] })
    const busy = Array.from({ length: 40 }, (_, i) =>
      render(`{% for i in (1..500) %}{% endfor %}${LOOP}`, { tags: [i] }, `ws${i % 8}`),
    )
    const pid = renderer.pid()
    if (pid === undefined) throw new Error('no child')
    process.kill(pid, 'SIGKILL')
    expect(await Promise.all(busy)).toEqual(busy.map((_, i) => `<i>${i}</i>`))
    expect(renderer.pid()).not.toBe(pid)
  },
  120 * SECONDS,
)

test(
  'a child that stands still is ended and begun again',
  async () => {
    await render(LOOP, { tags: [0] })
    const pid = renderer.pid()
    if (pid === undefined) throw new Error('no child')
    process.kill(pid, 'SIGSTOP')
    expect(await render(LOOP, { tags: ['later'] })).toBe('<i>later</i>')
    expect(renderer.pid()).not.toBe(pid)
  },
  90 * SECONDS,
)

test(
  'a closed renderer has no child, and renders no more than what is cheap',
  async () => {
    const own = createRenderer(quiet)
    await own.render('ws', inHtml(LOOP), {})
    const pid = own.pid() ?? 0
    const open = own.render('ws', inHtml(FOR_EVER), {})
    await own.close()
    expect(await open).toEqual({ ok: false, kind: 'busy' })
    await eventually(() => expect(() => process.kill(pid, 0)).toThrow())
    expect(await own.render('ws', inHtml(LOOP), {})).toEqual({ ok: false, kind: 'busy' })
    expect(await own.render('ws', inHtml('{{ 1 }}'), {})).toMatchObject({ ok: true })
  },
  120 * SECONDS,
)

test(
  'more than may wait is refused for now',
  async () => {
    const own = createRenderer(quiet)
    const many = Array.from({ length: 300 }, () =>
      own.render('ws', inHtml(LOOP), { vars: { tags: [1] } }),
    )
    const large = own.render('other', inHtml(LOOP), {
      vars: { tags: ['x'.repeat(17 * 1024 * 1024)] },
    })
    const kinds = (await Promise.all(many)).map((rendered) => (rendered.ok ? 'ok' : rendered.kind))
    expect(kinds).toEqual([...Array(200).fill('ok'), ...Array(100).fill('busy')])
    // It would never fit, so nobody should try it again.
    expect(await large).toEqual({
      ok: false,
      kind: 'fault',
      message: 'it and its values have over 16 million characters',
    })
    await own.close()
  },
  120 * SECONDS,
)

test('a render sees only what is its own', () => {
  expect(renderEmail(inHtml('{{ process }}{{ global }}{{ env }}'), {})).toMatchObject({ html: '' })
})
