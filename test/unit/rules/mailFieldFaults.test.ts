// Faults in what a mail says beside its content: the preview, the utm parameters, and the team's addresses.
import { describe, expect, test } from 'vitest'
import { limits } from '../../../rules/limits.ts'
import { codesOf, designAround, welcomeContext } from './builders.ts'
import { faults } from './faults.ts'

const mail = { template_id: 'welcome' }

faults(
  'send_email',
  ['default'],
  [
    ['a number as preview', { ...mail, preview_text: 1 }, ['preview_text bad_value']],
    ['utm as text', { ...mail, utm: 'spring' }, ['utm bad_value']],
    ['utm as list', { ...mail, utm: ['spring'] }, ['utm bad_value']],
    ['a name with utm_', { ...mail, utm: { utm_source: 'a' } }, ['utm.utm_source bad_value']],
    ['a number in utm', { ...mail, utm: { source: 1 } }, ['utm.source bad_value']],
    ['a long value', { ...mail, utm: { term: 'x'.repeat(256) } }, ['utm.term bad_value']],
    [
      'all of it',
      {
        ...mail,
        preview_text: 'Hi',
        utm: { source: 'a', medium: 'b', campaign: 'c', term: '', content: 'e' },
      },
      [],
    ],
  ],
)

const { teamAddressesMax } = limits
const many = (count: number) => Array.from({ length: count }, (_, n) => `a${n}@demo.test`)

describe.each(['to', 'cc'])('%s', (key) => {
  const foreign = [`${key}.1 domain_not_verified`]
  faults(
    'send_email',
    ['default'],
    (
      [
        ['an address', 'sales@demo.test', []],
        ['a name with it', 'Sales <sales@Demo.test>', []],
        ['a list', ['sales@demo.test', 'Ada <ada@demo.test>'], []],
        ['as many as there may be', many(teamAddressesMax), []],
        ['one too many', many(teamAddressesMax + 1), [`${key} bad_value`]],
        ['an empty list', [], [`${key} bad_value`]],
        ['nothing', '', []],
        ['a number', 5, [`${key} bad_address`]],
        ['an object', { address: 'sales@demo.test' }, [`${key} bad_address`]],
        ['no address', 'sales', [`${key} bad_address`]],
        ['two in one text', 'a@demo.test, b@demo.test', [`${key} bad_address`]],
        ['Liquid', '{{ contact.owner }}@demo.test', [`${key} bad_address`]],
        ['Liquid in the name', '{{ event.name }} <a@demo.test>', [`${key} bad_address`]],
        ['a tag of Liquid', '{%if%}@demo.test', [`${key} bad_address`]],
        ['another domain', 'sales@elsewhere.test', [`${key} domain_not_verified`]],
        ['a domain below ours', 'sales@mail.demo.test', [`${key} domain_not_verified`]],
        ['one of two elsewhere', ['a@demo.test', 'b@elsewhere.test'], foreign],
        [
          'each entry that is wrong',
          ['a@demo.test', '', 'x', 'b@elsewhere.test', null],
          [
            `${key}.1 bad_address`,
            `${key}.2 bad_address`,
            `${key}.3 domain_not_verified`,
            `${key}.4 bad_address`,
          ],
        ],
      ] as [string, unknown, string[]][]
    ).map(([name, given, expected]) => [name, { ...mail, [key]: given }, expected]),
  )
})

test('Liquid that does not parse is a problem at its key', () => {
  const context = { ...welcomeContext, liquidProblem: () => 'broken' }
  const data = { ...mail, preview_text: '{{', utm: { source: '{{' } }
  expect(codesOf(designAround('send_email', data, 'default'), context)).toEqual([
    'nodes.1.data.preview_text bad_template_text',
    'nodes.1.data.utm.source bad_template_text',
  ])
})
