// What an erasure takes out of kept answers: the person, and nobody whose address is like theirs.
import { expect, test } from 'vitest'
import { blankAnswer } from '../../commands/contacts/blankAnswer.ts'

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

test.each([
  ["o'neil+shop@person.test", `to=${new URLSearchParams({ a: "o'neil+shop@person.test" })}`],
  ["o'neil+shop@person.test", "https://shop.test/?to=o'neil%2Bshop@person.test&x"],
  [ADA, 'https://shop.test/?to=ada%2540person.test'],
  [ADA, 'https://shop.test/?go=%252F%253Fto%253Dada%2540person.test'],
  [ADA, 'said "ada"@person.test'],
  ['ada@xn--bcher-kva.test', 'email must be an address, not "Ada@Bücher.test"'],
  ['ada@xn--bcher-kva.test', `https://shop.test/?to=${encodeURIComponent('ada@BÜCHER.test')}`],
  ['ada@xn--bcher-kva.test', 'for ada@bu\u0308cher.test'],
])('%s goes in the spelling of %j', (email, text) => {
  const others = [`x${email}`, `${email}.au`]
  const blank = blankAnswer(JSON.stringify({ others, text: `\n${text}` }), email)
  expect(JSON.parse(blank ?? '{}')).toEqual({ others, text: '' })
})
