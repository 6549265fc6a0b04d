// Who gets a mail of a node.
import { expect, test } from 'vitest'
import { addressMail } from '../../../activities/segment/addressed.ts'
import type { MailContent } from '../../../rules/interpreterTypes.ts'

const contact = 'ada@example.test'
const sales = 'Sales <sales@demo.test>'

test.each<[string, Pick<MailContent, 'to' | 'cc'>, string[], string[], string[]]>([
  ['the contact alone', {}, [contact], [], [contact]],
  ['with a copy', { cc: sales }, [contact], [sales], [contact, 'sales@demo.test']],
  [
    'with copies, each once',
    { cc: [sales, 'boss@demo.test', 'SALES@demo.test'] },
    [contact],
    [sales, 'boss@demo.test', 'SALES@demo.test'],
    [contact, 'sales@demo.test', 'boss@demo.test'],
  ],
  [
    'a copy for the contact themself is none',
    { cc: ['Ada@Example.test', sales] },
    [contact],
    [sales],
    [contact, 'sales@demo.test'],
  ],
  ['the team alone', { to: sales }, [sales], [], ['sales@demo.test']],
  [
    'the team with copies',
    { to: ['a@demo.test', 'b@demo.test'], cc: 'a@demo.test' },
    ['a@demo.test', 'b@demo.test'],
    ['a@demo.test'],
    ['a@demo.test', 'b@demo.test'],
  ],
  ['the team, of whom the contact is one', { to: contact }, [contact], [], [contact]],
])('%s', (_name, mail, to, cc, recipients) => {
  const isToTeam = mail.to !== undefined
  const team = isToTeam ? recipients : recipients.slice(1)
  expect(addressMail(mail, contact, () => null)).toEqual({ to, cc, recipients, team })
})

test('the first fault keeps the mail from everybody', () => {
  const fault = (key: string, address: string) =>
    address === 'a@demo.test' ? null : `${key} ${address}`
  const addressed = addressMail({ to: 'a@demo.test', cc: ['b@x.test', 'c@x.test'] }, contact, fault)
  expect(addressed).toBe('cc b@x.test')
})
