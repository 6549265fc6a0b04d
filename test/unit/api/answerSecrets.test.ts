// What is kept of an answer: all of it but what is shown once.
import { expect, it } from 'vitest'
import { withoutSecrets } from '../../../api/http/answerSecrets.ts'

it('has null in place of an API key and of a key for signatures', () => {
  const answer = { id: 'key_1', token: 'sk_1', signing_secret: 'whsec_1', name: 'token' }
  const kept = { id: 'key_1', token: null, signing_secret: null, name: 'token' }
  expect(JSON.parse(withoutSecrets(JSON.stringify(answer)))).toEqual(kept)
})

it.each(['', '{"a": 1.0}', '{"design":{"token":"x"}}', '["token"]', '"\\"token\\""'])(
  'leaves %s as it is',
  (body) => {
    expect(withoutSecrets(body)).toBe(body)
  },
)
