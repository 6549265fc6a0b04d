// Addresses whose domain has letters beyond ASCII: every refusal says how the domain is written.
import { expect, it } from 'vitest'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { welcomeDesign } from '../setup/designs.ts'

const api = await createTestApi()
await insertTestDomain(api, 'sender.test')

const email = 'ada@münchen.example'
const path = encodeURIComponent(email)
const mail = { from: 'a@sender.test', to: 'eva@example.test', subject: 'Hi', text: 'Hi' }
const event = { event_name: 'order.placed' }
const { body: audience } = await api.request('POST', '/v1/audiences', { name: 'All' })
const contacts = `/v1/audiences/${audience['id']}/contacts`
const { body: template } = await api.request('POST', '/v1/templates', { name: 'T', subject: 'S' })

/** Mail to the team. */
const design = {
  ...welcomeDesign,
  nodes: welcomeDesign.nodes.map((node) =>
    node.type === 'send_email' ? { ...node, data: { ...node.data, to: email } } : node,
  ),
}

const ADDRESS = /with the domain written as xn--mnchen-3ya\.example, not \\"ada@münchen\.example\\"/

it.each<[string, string, string, object | undefined]>([
  ['to', 'POST', '/v1/emails', { ...mail, to: email }],
  ['cc', 'POST', '/v1/emails', { ...mail, cc: [email] }],
  ['reply_to', 'POST', '/v1/emails', { ...mail, reply_to: email }],
  ['an item of a batch', 'POST', '/v1/emails/batch', { emails: [mail, { ...mail, to: [email] }] }],
  ['an audience contact', 'POST', contacts, { email }],
  ['audience contacts', 'POST', `${contacts}/batch`, { contacts: [{ email }] }],
  ['an audience contact in the path', 'DELETE', `${contacts}/${path}`, undefined],
  ['an event', 'POST', '/v1/automation/events', { ...event, email }],
  ['events', 'POST', '/v1/automation/events/batch', { events: [{ ...event, email }] }],
  ['a suppression', 'POST', '/v1/suppressions', { email }],
  ['a suppression in the path', 'DELETE', `/v1/suppressions/${path}`, undefined],
  ['a filter', 'GET', `/v1/emails?to=${path}`, undefined],
  ['the sender of a template', 'PATCH', `/v1/templates/${template['id']}`, { from: email }],
  ['a test of a template', 'POST', `/v1/templates/${template['id']}/test`, { to: email }],
  ['a design', 'POST', '/v1/workflows', { name: 'W', status: 'active', design }],
])('the refusal of %s says how its domain is written', async (_, method, target, body) => {
  const answer = await api.request(method, target, body)
  expect([answer.text, answer.status]).toEqual([expect.stringMatching(ADDRESS), expect.any(Number)])
})

it('the refusal of a domain to register says how its name is written', async () => {
  const { status, body } = await api.request('POST', '/v1/domains', { name: 'münchen.example' })
  expect([status, body]).toEqual([
    400,
    {
      message:
        'name must be a domain name such as mail.example.com, written as xn--mnchen-3ya.example, not "münchen.example"',
      code: 'invalid_domain_name',
    },
  ])
})

it('leaves the texts of the contract as they are', async () => {
  const sent = await api.request('POST', '/v1/emails', { ...mail, from: email })
  expect(sent.body).toEqual({ message: 'Invalid email format in from field' })
  const changed = await api.request('PATCH', `/v1/automation/contacts/${path}`, {
    properties: { a: 1 },
  })
  expect(changed.body).toEqual({ error: 'Invalid email format' })
})
