// The Message-ID of an email names the email.
import { expect, test } from 'vitest'
import { emailIdOf, messageIdOf } from '../../../rules/mail/messageIds.ts'

const id = 'em_01ARZ3NDEKTSV4RRFFQ69G5FAV'

test('leads back to the email', () => {
  const messageId = messageIdOf(id, 'Ab-_9', 'a.test')
  expect(messageId).toBe('01ARZ3NDEKTSV4RRFFQ69G5FAV.Ab-_9@a.test')
  expect(emailIdOf(messageId)).toBe(id)
})

test.each([
  '',
  '@',
  'AbCdEfGhIjKlMnOpQrStUw@a.test',
  '01ARZ3NDEKTSV4RRFFQ69G5FAV@a.test',
  '01arz3ndektsv4rrffq69g5fav.x@a.test',
  '01ARZ3NDEKTSV4RRFFQ69G5FAU.x@a.test',
  ' 01ARZ3NDEKTSV4RRFFQ69G5FAV.x@a.test',
  '01ARZ3NDEKTSV4RRFFQ69G5FAV.x',
])('%s names none', (messageId) => {
  expect(emailIdOf(messageId)).toBeNull()
})
