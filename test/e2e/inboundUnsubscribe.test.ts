// Unsubscribing by mail to the address of the List-Unsubscribe header, as mail programs do.
import { expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { design, insertFlow, mail, onEvent } from '../setup/flows.ts'
import { createInboundHarness } from '../setup/inbound.ts'

const database = await createTestDatabase()

test('a message to the address of List-Unsubscribe cancels the execution, and its workflow sends no more', async () => {
  const h = await createInboundHarness(database)
  const flow = design(
    {
      start: onEvent('began'),
      hello: mail('Hello'),
      wait: ['delay', { duration: 'P1D' }],
      end: ['exit', {}],
    },
    [
      ['start', 'hello'],
      ['hello', 'wait'],
      ['wait', 'end'],
    ],
  )
  await insertFlow(h.db, h, flow)
  const executionId = await h.post('began', 'leaver@example.test')
  await eventually(async () => expect(await h.stateOf('leaver@example.test')).toBe('delivered'))
  const [sent] = h.smtp.mailsTo('leaver@example.test')
  const unfolded = sent?.raw.toString('latin1').replace(/\r\n[ \t]+/g, ' ') ?? ''
  const mailbox =
    /^List-Unsubscribe: .*<mailto:(u\+[0-9a-f]{32}@bounces\.sender\.test)/m.exec(unfolded)?.[1] ??
    ''
  const message = 'Subject: unsubscribe\r\n\r\n'
  expect(await h.report(mailbox, message, 'leaver@example.test')).toMatch(/^250 /)
  expect(await h.report(mailbox, message, 'leaver@example.test'), 'again').toMatch(/^250 /)
  await eventually(async () =>
    expect(await h.execution(executionId)).toMatchObject({
      status: 'CANCELLED',
      cancellation_reason: 'unsubscribed',
    }),
  )
  const names = (await h.events('leaver@example.test')).map(({ event_name }) => event_name)
  expect(names.filter((name) => name === 'email.unsubscribed')).toHaveLength(1)
})
