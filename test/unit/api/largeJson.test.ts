// JSON in pieces is byte for byte what JSON.stringify makes, whatever stands at the borders; other work runs between pieces.
import { Hono } from 'hono'
import { expect, it } from 'vitest'
import { bodyOf, jsonPieces } from '../../../api/http/largeJson.ts'
import { eventually } from '../../setup/eventually.ts'
import { openRaw } from '../../setup/rawHttp.ts'
import { serve } from '../../setup/serving.ts'

async function joined(object: object, large: Record<string, string[]>): Promise<string> {
  const given = Object.entries(large).map(([name, parts]) => {
    async function* partsOf() {
      yield* parts
    }
    return [name, partsOf] as const
  })
  return new Response(
    bodyOf(jsonPieces(object, Object.fromEntries(given)), undefined, () => undefined),
  ).text()
}

/** Where a piece ends. */
const BORDER = 64 * 1024
const around = (mark: string) =>
  [-2, -1, 0, 1].map((shift) => `${'x'.repeat(BORDER + shift)}${mark}${'y'.repeat(BORDER + 10)}`)
const controls = Array.from({ length: 0x20 }, (_, code) => String.fromCharCode(code)).join('')

it.each([
  ['quotes and backslashes', around('"\\"\\')],
  ['control characters', around(`${controls}\x7f\x80`)],
  ['surrogate pairs', around('\u{1f600}\u{1f601}')],
  ['nothing but surrogate pairs', ['\u{1f600}'.repeat(BORDER), `x${'\u{1f600}'.repeat(BORDER)}`]],
  ['line separators', around('\u2028\u2029\ufeff')],
  ['halves of pairs', ['\ud800x', '\udc00x', 'x\ud83dx']],
  ['nothing', ['']],
])('writes %s as JSON.stringify does', async (_, texts) => {
  for (const text of texts) {
    const object = {
      first: 'é"',
      gone: undefined,
      html: '',
      between: [1, { a: null }],
      text: '',
      last: '\u2028',
    }
    const wanted = JSON.stringify({ ...object, html: text, text: `${text}${text}` })
    expect(await joined(object, { html: [text], text: [text, text] })).toBe(wanted)
    const { between, ...edges } = { html: '', between: 1, text: '' }
    expect(await joined(edges, { html: [text], text: [] }), 'at the edges').toBe(
      JSON.stringify({ html: text, text: '' }),
    )
  }
})

it('writes an object without fields', async () => {
  expect(await joined({}, {})).toBe('{}')
})

/** Serves one large text; `made` counts its parts. */
async function serveLarge(parts: number, failAt = Number.POSITIVE_INFINITY) {
  const seen = { made: 0, ended: false, failures: 0 }
  async function* partsOf() {
    try {
      for (; seen.made < parts; seen.made++) {
        if (seen.made === failAt) throw new Error('gone')
        yield 'é'.repeat(BORDER)
      }
    } finally {
      seen.ended = true
    }
  }
  const app = new Hono<{ Bindings: { outgoing: import('node:http').ServerResponse } }>()
  app.get('/', (c) =>
    c.body(
      bodyOf(jsonPieces({ html: '' }, { html: partsOf }), c.env.outgoing, () => {
        seen.failures += 1
      }),
    ),
  )
  return { seen, ...(await serve(app.fetch)) }
}
const GET = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n'

it('makes no more than the client takes, and stops when it has gone', async () => {
  const { seen, port, close } = await serveLarge(1_000)
  const connection = await openRaw(port)
  connection.socket.pause()
  await connection.write(GET)
  let before = -1
  // Until the buffers of the system are full.
  await eventually(async () => {
    const now = seen.made
    const isStill = now > 0 && now === before
    before = now
    expect(isStill).toBe(true)
  })
  expect(seen).toEqual({ made: before, ended: false, failures: 0 })
  expect(seen.made).toBeLessThan(500)
  connection.socket.destroy()
  await eventually(() => expect(seen).toEqual({ made: before, ended: true, failures: 0 }))
  close()
})

it('closes the connection when a piece cannot be made, so that nobody takes the beginning for the whole', async () => {
  const { seen, port, close } = await serveLarge(10, 5)
  const connection = await openRaw(port)
  await connection.write(GET)
  await connection.closed()
  expect(connection.received()).toMatch(/transfer-encoding: chunked/i)
  expect(connection.received().endsWith('0\r\n\r\n')).toBe(false)
  expect(seen).toEqual({ made: 5, ended: true, failures: 1 })
  close()
})
