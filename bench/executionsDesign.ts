// The workflow of the executions figure, as a design. The hand-written reference sends the same three emails.
import { SENDER } from './payloads.ts'

export const TRIGGER_EVENT = 'user.signed_up'

export const mails = [
  {
    id: 'welcome',
    subject: 'Welcome {{ contact.first_name }}',
    html: '<p>Hello {{ contact.first_name }}, you are on {{ event.plan }}.</p><a href="{{ unsubscribe_url }}">Leave</a>',
  },
  {
    id: 'tips',
    subject: 'Three tips',
    html: '<p>{{ contact.first_name }}, begin with these.</p><a href="{{ unsubscribe_url }}">Leave</a>',
  },
  {
    id: 'offer',
    subject: 'An offer for {{ event.plan }}',
    html: '<p>Only this week, {{ contact.email }}.</p><a href="{{ unsubscribe_url }}">Leave</a>',
  },
] as const

const order = ['start', ...mails.map(({ id }) => id), 'end']

/** trigger → 3 × send_email → exit. */
export const design = {
  nodes: [
    { id: 'start', type: 'trigger', data: { kind: 'event', event_name: TRIGGER_EVENT } },
    ...mails.map(({ id, subject, html }) => ({
      id,
      type: 'send_email',
      data: { from: SENDER, subject, html, category: 'marketing' },
    })),
    { id: 'end', type: 'exit', data: {} },
  ],
  edges: order.slice(1).map((target, i) => ({
    id: `e${i}`,
    source: order[i] ?? '',
    target,
  })),
}
