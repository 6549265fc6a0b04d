// Which refusals of a relay ask for less at a time, and so cost no attempt.
import { expect, test } from 'vitest'
import { asksForLess } from '../../../rules/mail/slower.ts'

const refusal = (reply: string) => ({
  code: Number(reply.slice(0, 3)),
  enhanced: /^\d{3}[ -](\d\.\d+\.\d+)/.exec(reply)?.[1] ?? null,
  reply,
})

test.each([
  // Postfix, Exim, Sendmail, Exchange
  '421 4.7.0 mx.example Error: too many connections from 192.0.2.1',
  '421 Too many concurrent SMTP connections; please try again later.',
  '421 4.3.2 Connection rate limit exceeded.',
  '421 4.3.2 Too many open connections.',
  '432 4.3.2 Concurrent connections limit exceeded. Visit https://aka.ms/concurrent_sending.',
  '450 4.7.1 Error: too much mail from 192.0.2.1: message rate exceeded',
  // Amazon SES
  '454 Throttling failure: Maximum sending rate exceeded.',
  '454 4.7.0 Throttling failure',
  '451 4.7.1 rate limit exceeded, slow down',
  '451 4.3.0 You are sending too fast',
])('%s', (reply) => {
  expect(asksForLess(refusal(reply))).toBe(true)
})

test.each([
  // Not over in some seconds.
  '454 Throttling failure: Daily message quota exceeded.',
  '451 Authentication failed: Maximum credits exceeded',
  '452 4.5.3 hourly sending rate of this account exceeded',
  // About one sender, recipient or mailbox.
  '450 4.2.1 The user you are trying to contact is receiving mail at a rate that prevents it; too many messages',
  '451 4.7.1 <a@b.test>: Sender address rejected: rate limit exceeded',
  '450 4.7.1 <a@b.test>: Recipient address rejected: too many messages',
  // About what was sent.
  '421-4.7.28 Gmail has detected an unusual rate of unsolicited mail',
  // Something else.
  '421 too busy',
  '421 4.3.2 shutting down',
  '451 4.7.1 greylisted, try again later',
  '450 4.1.1 <throttle@b.test>: unknown',
  '451 4.3.0 <too-many-connections@b.test>: not now',
  '550 5.7.1 rate limit exceeded',
])('not %s', (reply) => {
  expect(asksForLess(refusal(reply))).toBe(false)
})
