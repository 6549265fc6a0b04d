// Faults in what a mail says beside its content: the preview, and the utm parameters.
import { expect, test } from 'vitest'
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

test('Liquid that does not parse is a problem at its key', () => {
  const context = { ...welcomeContext, liquidProblem: () => 'broken' }
  const data = { ...mail, preview_text: '{{', utm: { source: '{{' } }
  expect(codesOf(designAround('send_email', data, 'default'), context)).toEqual([
    'nodes.1.data.preview_text bad_template_text',
    'nodes.1.data.utm.source bad_template_text',
  ])
})
