// After SECRET_KEY has changed, all that was made with one before is recognised while that stands in SECRET_KEY_PREVIOUS.
import { describe, expect, test } from 'vitest'
import { createCursors } from '../../../api/http/cursor.ts'
import { createMailboxes } from '../../../inbound/reports/recipients.ts'
import { parseVerp, verpAddress } from '../../../mail/tracking/mailboxes.ts'
import { clickToken, openToken, readTrackingToken } from '../../../mail/tracking/tokens.ts'
import type { WorkspaceId } from '../../../rules/ids.ts'
import { createSecrets, type Secrets } from '../../../runtime/secrets.ts'

const [first, second, now, foreign] = [1, 2, 3, 4].map((byte) => Buffer.alloc(32, byte)) as [
  Buffer,
  Buffer,
  Buffer,
  Buffer,
]
const DOMAIN = 'bounces.sender.test'
const scope = { list: 'emails', workspaceId: 'ws_1' as WorkspaceId }

interface Case {
  make: (secrets: Secrets) => string
  /** What is read from it; null: it is not recognised. */
  read: (secrets: Secrets, made: string) => unknown
}

const cursorsOf = (secrets: Secrets) => createCursors(secrets).of<string>(scope)

/** All that is signed with SECRET_KEY and leaves the service. */
const cases: Record<string, Case> = {
  'a return path': {
    make: (secrets) => verpAddress(secrets.mac('verp'), 41, DOMAIN),
    read: (secrets, made) => parseVerp(secrets.macCheck('verp'), made),
  },
  'a return path as a recipient of the listener': {
    make: (secrets) => verpAddress(secrets.mac('verp'), 41, DOMAIN),
    read: (secrets, made) =>
      createMailboxes({
        verpCheck: secrets.macCheck('verp'),
        fblAddress: null,
        takesPostmaster: false,
      })(made),
  },
  'a pixel': {
    make: (secrets) => openToken(secrets.mac('tracking'), 41),
    read: (secrets, made) => readTrackingToken(secrets.macCheck('tracking'), made),
  },
  'a tracked link': {
    make: (secrets) => clickToken(secrets.mac('tracking'), 41, 7),
    read: (secrets, made) => readTrackingToken(secrets.macCheck('tracking'), made),
  },
  'a cursor': {
    make: (secrets) => cursorsOf(secrets).seal('position'),
    read: (secrets, made) => {
      try {
        return cursorsOf(secrets).open(made)
      } catch {
        return null
      }
    },
  },
  'a seal': {
    make: (secrets) => secrets.seal('cursor', 'text', 'context'),
    read: (secrets, made) => secrets.open('cursor', made, 'context'),
  },
  'an encrypted key': {
    make: (secrets) => secrets.encrypt('dkim-key', Buffer.from('key')).toString('base64'),
    read: (secrets, made) => {
      try {
        return secrets.decrypt('dkim-key', Buffer.from(made, 'base64')).toString()
      } catch {
        return null
      }
    },
  },
}

describe.each(Object.entries(cases))('%s', (_, { make, read }) => {
  const rotated = createSecrets(now, [second, first])
  const before = [first, second].map((key) => createSecrets(key))
  const genuine = read(createSecrets(now), make(createSecrets(now)))

  test('is recognised under the key of now and under each of before', () => {
    expect(genuine).not.toBeNull()
    for (const maker of [rotated, ...before]) {
      expect(read(rotated, make(maker))).toEqual(genuine)
    }
  })

  test('is not recognised under a key that is not listed, before or after', () => {
    expect(read(rotated, make(createSecrets(foreign)))).toBeNull()
    expect(read(createSecrets(now), make(createSecrets(first)))).toBeNull()
    expect(read(createSecrets(first), make(rotated))).toBeNull()
  })

  test('is made with the key of now alone', () => {
    expect(read(createSecrets(now), make(rotated))).toEqual(genuine)
  })

  test('a process that still has the key of before recognises it once the next key is listed', () => {
    expect(read(createSecrets(second, [now]), make(rotated))).toEqual(genuine)
  })
})

test('a tag that was cut to nothing is none, under any key', () => {
  const check = createSecrets(now, [first]).macCheck('verp')
  const tag = createSecrets(first).mac('verp')('x', 16)
  expect(check('x', tag)).toBe(true)
  for (const length of [0, 1, 9]) expect(check('x', tag.subarray(0, length))).toBe(false)
})
