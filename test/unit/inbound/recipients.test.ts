// Recipients of the listener whose domain is not ASCII to a reader: smtp-server hands them over in Unicode.
import { expect, test } from 'vitest'
import { createMailboxes } from '../../../inbound/reports/recipients.ts'
import { toAscii } from '../../../inbound/toAscii.ts'
import { verpAddress } from '../../../mail/tracking/mailboxes.ts'
import { createSecrets } from '../../../runtime/secrets.ts'
import { TEST_SECRET_KEY } from '../../setup/processes.ts'

const secrets = createSecrets(Buffer.from(TEST_SECRET_KEY, 'base64'))
const verpMac = secrets.mac('verp')
const mailboxOf = createMailboxes({
  verpCheck: secrets.macCheck('verp'),
  fblAddress: 'FBL@xn--bcher-kva.de',
  takesPostmaster: true,
})

test('a return path, the postmaster and the mailbox of feedback loops are found', () => {
  const path = verpAddress(verpMac, 41, 'bounces.xn--bcher-kva.de')
  const inUnicode = path.replace('xn--bcher-kva', 'b\u00fccher')
  expect(inUnicode).not.toBe(path)
  for (const address of [path, inUnicode]) {
    expect(mailboxOf(address)).toEqual({ kind: 'return_path', deliveryId: 41 })
  }
  expect(mailboxOf('postmaster@b\u00fccher.de')).toEqual({
    kind: 'postmaster',
    domain: 'xn--bcher-kva.de',
  })
  expect(mailboxOf('fbl@b\u00fccher.de')).toEqual({ kind: 'feedback' })
})

test.each([
  ['a@B\u00dcCHER.de', 'a@xn--bcher-kva.de'],
  ['A.b@Example.test', 'A.b@example.test'],
  ['a@[192.0.2.1]', 'a@[192.0.2.1]'],
  ['postmaster', 'postmaster'],
  ['', ''],
])('%s is %s in ASCII', (given, wanted) => {
  expect(toAscii(given)).toBe(wanted)
})
