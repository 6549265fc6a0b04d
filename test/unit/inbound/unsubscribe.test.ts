// A message to the address of a List-Unsubscribe header unsubscribes, from any sender and with any text.
import { expect, test } from 'vitest'
import { unsubscribeMailbox } from '../../../mail/tracking/mailboxes.ts'
import { sendInbound } from './client.ts'
import { DOMAIN, listenForReports, ours } from './server.ts'

const told = listenForReports()
const message = 'Subject: unsubscribe\r\n\r\nunsubscribe\r\n'
const token = 'AbCdEfGhIjKlMnOpQrStUw'
const send = async (to: string, from = 'reader@example.test') =>
  (await sendInbound(told.port, { from, to, message })).at(-1)

test('unsubscribes the reader of the email with that token, in any case of letters', async () => {
  const mailbox = unsubscribeMailbox(token, DOMAIN)
  expect(await send(mailbox)).toMatch(/^250 /)
  expect(await send(mailbox.toUpperCase(), '')).toMatch(/^250 /)
  expect(told.left).toEqual([token, token])
  expect(told.heard, 'no report').toEqual([])
})

test('refuses an unknown token and a malformed one', async () => {
  expect(await send(unsubscribeMailbox(`x${token.slice(1)}`, DOMAIN))).toMatch(/^550 5\.1\.1 /)
  expect(await send(`u+0123@${DOMAIN}`)).toMatch(/^550 /)
  expect(told.left).toHaveLength(1)
})

test('does not make return paths accept other senders', async () => {
  expect(await send(ours(7))).toMatch(/^550 5\.7\.1 /)
  expect(told.left).toEqual([])
})
