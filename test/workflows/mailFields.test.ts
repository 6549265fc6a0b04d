// What a node says of its mail beside the content: the preview, and the utm parameters of its links.
import { expect, test } from 'vitest'
import { createApiWithEngine } from '../setup/apiEngine.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { uniqueName } from '../setup/unique.ts'

const { api, engine, flow, post, stepLines, newContact } = await createApiWithEngine()

/** Runs a workflow that sends this mail. @returns the stored mail; undefined if none was sent */
async function send(data: Record<string, unknown>, properties: object = {}) {
  const eventName = uniqueName('event')
  const graph = design(
    { start: onEvent(eventName), hello: mail('Hello', data), end: ['exit', {}] },
    [
      ['start', 'hello'],
      ['hello', 'end'],
    ],
  )
  await flow({ ...graph, settings: { on_step_failure: 'continue' } })
  const email = newContact()
  const [id = ''] = await post(eventName, email, properties)
  await engine().ended(id, 'COMPLETED')
  const stored = await api.db
    .selectFrom('emails')
    .selectAll()
    .where('execution_id', '=', id)
    .executeTakeFirst()
  return { id, email, stored }
}

test('the preview is rendered, escaped, and hidden at the beginning of the html', async () => {
  const { stored } = await send(
    { preview_text: 'Hi {{ event.name }},\nread on', html: '<body class="x"><p>Text</p></body>' },
    { name: '<b>Ada & Bob' },
  )
  expect(stored?.html).toMatch(
    /^<body class="x"><div style="display:none[^"]*">Hi &lt;b&gt;Ada &amp; Bob, read on(?:&[#a-z0-9]+;)+<\/div><p>Text<\/p><\/body>$/,
  )
})

test('a preview of Liquid that takes the pool, and none of an empty text', async () => {
  const loop = '{% for i in (1..3) %}{{ i }}{% endfor %}'
  const { stored } = await send({ preview_text: loop, html: '<p>Text</p>' })
  expect(stored?.html).toMatch(/>123&/)
  const empty = await send({ preview_text: '', html: '<p>Text</p>' })
  expect(empty.stored?.html).toBe('<p>Text</p>')
})

test('links get their parameters, but the link to unsubscribe', async () => {
  const { stored } = await send(
    {
      html:
        '<a href="https://shop.test/tea?id=1#top">Tea</a>' +
        '<a href="{{ unsubscribe_url }}">Leave</a>',
      utm: { source: 'dripline', campaign: '{{ vars.season }} {{ event.plan }}', term: '' },
      variables: { season: 'spring' },
    },
    { plan: 'a&b' },
  )
  const [tea = '', leave = ''] = [...(stored?.html ?? '').matchAll(/href="([^"]*)"/g)].map(
    ([, href]) => href ?? '',
  )
  expect(tea).toBe(
    'https://shop.test/tea?id=1&amp;utm_source=dripline&amp;utm_campaign=spring%20a%26b#top',
  )
  expect(leave).toMatch(/\/u\/[^?&]+$/)
})

test('parameters of Liquid that takes the pool, and of Liquid that does not render', async () => {
  const html = '<a href="https://shop.test">Tea</a>'
  const loop = '{% for i in (1..3) %}{{ i }}{% endfor %}'
  const { stored } = await send({ html, utm: { source: loop, term: loop } })
  expect(stored?.html).toContain('https://shop.test?utm_source=123&amp;utm_term=123"')
  const endless = '{% for i in (1..9999999) %}x{% endfor %}'
  const failing = await send({ html, utm: { source: endless } })
  expect(failing.stored).toBeUndefined()
  expect((await stepLines(failing.id))[1]).toMatch(/^hello default template: utm\.source: /)
})
