// What an erasure takes out of kept answers and of headers: the person, and nobody whose address is like theirs.
import { expect, test } from 'vitest'
import { blankAnswer } from '../../commands/contacts/blankAnswer.ts'
import { blankHeader } from '../../commands/contacts/blankHeader.ts'

const ADA = 'ada@person.test'

test('an answer about them keeps ids and its form', () => {
  const body = {
    event_id: 'evt_1',
    email: 'Ada@Person.test',
    properties: { by: 'Ada' },
    executions: ['exe_1'],
    at: 3,
  }
  expect(JSON.parse(blankAnswer(JSON.stringify(body), ADA) ?? '')).toEqual({
    event_id: 'evt_1',
    email: '',
    properties: {},
    executions: ['exe_1'],
    at: 3,
  })
})

test('of an answer about several the others stay, also those whose address holds theirs', () => {
  const others = { email: `x${ADA}`, properties: { friend: 'Bo' } }
  const body = { events: [{ email: ADA, name: 'Ada' }, others], errors: [{ at: [ADA] }] }
  expect(JSON.parse(blankAnswer(JSON.stringify(body), ADA) ?? '')).toEqual({
    events: [{ email: '', name: '' }, others],
    errors: [{ at: [''] }],
  })
  expect(blankAnswer(JSON.stringify(others), ADA)).toBeNull()
  expect(blankAnswer('', ADA)).toBeNull()
})

test('of an execution of theirs ids and numbers stay, and not what a caller has written', () => {
  const ids = { execution_id: 'exe_1', workflow_id: 'wf_1', status: 'CANCELLED', updated_at: 3 }
  const context = { email: ADA, stepCount: 2 }
  const body = { ...ids, context, cancellation_reason: 'Ada has asked for it', error: null }
  expect(JSON.parse(blankAnswer(JSON.stringify(body), ADA) ?? '')).toEqual({
    ...ids,
    context: { email: '', stepCount: 2 },
    cancellation_reason: '',
    error: null,
  })
})

test('a text that names them goes as a whole, wherever it stands, and a key with what it holds', () => {
  const others = [`x${ADA}`, `${ADA}.au`, `${ADA}-x`].map((one) => `For ${one}`)
  const body = {
    html: `<p>Ada, is &lt;${ADA.toUpperCase()}&gt; yours?</p>`,
    missing: others,
    errors: [{ index: 1, message: `email must be an address, not "${ADA} "` }],
    link: `https://shop.test/?to%3D${encodeURIComponent(ADA)}`,
    by: { [ADA]: 'Ada', [`x${ADA}`]: 'Bo' },
  }
  expect(JSON.parse(blankAnswer(JSON.stringify(body), ADA) ?? '')).toEqual({
    html: '',
    missing: others,
    errors: [{ index: 1, message: '' }],
    link: '',
    by: { [`x${ADA}`]: 'Bo' },
  })
  expect(blankAnswer(JSON.stringify({ missing: others }), ADA)).toBeNull()
})

test('a header names them no more, has the same length, and its body is as it was', () => {
  const message = (to: string) =>
    Buffer.from(
      `From: a@b.test\r\nTo: Ada <${to}>,\r\n bo@person.test\r\nX: \xff\r\n\r\nDear ${ADA}\r\n`,
      'latin1',
    )
  const without = blankHeader(message('ADA@person.test'), ADA)
  expect(without).toEqual(message('xxx@xxxxxx.xxxx'))
  expect(blankHeader(message('bo@person.test'), ADA)).toBeNull()
  expect(blankHeader(Buffer.from(`To: ${ADA}`), ADA)).toEqual(Buffer.from('To: xxx@xxxxxx.xxxx'))
})

test.each([
  ["To: joada@person.test, ada@person.test.au\r\nCc: o'ada@person.test, x-ada@person.test", null],
  ['From: ada@person.test\r\nReply-To: ada@person.test', null],
  ['List-Unsubscribe: <https://shop.test/?to=ada@person.test>\r\nX-To: ada@person.test', null],
  ['DKIM-Signature: v=1; i=ada@person.test; b=x\r\n To: ada@person.test', null],
  [
    "From: ada@person.test\r\nto : joada@person.test,\r\n\t'Ada@person.test' <ada@person.test>\r\nSubject: ada@person.test",
    "From: ada@person.test\r\nto : joada@person.test,\r\n\t'xxx@xxxxxx.xxxx' <xxx@xxxxxx.xxxx>\r\nSubject: ada@person.test",
  ],
  [
    'Bcc:ada@person.test;\r\nResent-To: ada@person.test.',
    'Bcc:xxx@xxxxxx.xxxx;\r\nResent-To: xxx@xxxxxx.xxxx.',
  ],
])('only whole addresses of recipients go out of a header: %j', (header, wanted) => {
  const blank = blankHeader(Buffer.from(`${header}\r\n\r\nada@person.test`), ADA)
  const expected = wanted === null ? null : `${wanted}\r\n\r\nada@person.test`
  expect(blank?.toString() ?? null).toBe(expected)
})

test.each([
  'ada@xn--bcher-kva.test',
  'ADA@bücher.test',
  'ada@BÜCHER.test',
  'ada@Bu\u0308cher.test',
  '"ada"@bücher.test',
])('the domain goes in all its spellings: %j', (written) => {
  const message = (address: string) =>
    Buffer.from(`To: Ada <${address}>, ada@bücher.test.au, "o ada"@bücher.test\r\n\r\n`)
  const blank = Buffer.from(written)
    .toString('latin1')
    .replace(/[^@."]/g, 'x')
  expect(blankHeader(message(written), 'ada@xn--bcher-kva.test')).toEqual(message(blank))
})

test('a domain that stands for no Unicode goes as it is', () => {
  const message = (address: string) => Buffer.from(`To: ${address}, "ada@ home" <bo@person.test>`)
  expect(blankHeader(message('ada@xn--a.test'), 'ada@xn--a.test')).toEqual(
    message('xxx@xxxxx.xxxx'),
  )
})
