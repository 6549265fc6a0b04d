// The designs in the examples of the interface description: Acme's welcome series, which the tests run.
import { exampleSender } from '../http/exampleIds.ts'

const unsubscribe = '<p><a href="{{ unsubscribe_url }}">Unsubscribe</a></p>'

const signedUp = {
  id: 'signed_up',
  type: 'trigger',
  data: { kind: 'event', event_name: 'user.signed_up', re_entry: { mode: 'once' } },
}

const welcome = {
  id: 'welcome',
  type: 'send_email',
  data: {
    subject: 'Welcome to Acme, {{ contact.first_name }}',
    html: `<p>Good to have you, {{ contact.first_name }}.</p>${unsubscribe}`,
  },
}

const firstOrder = {
  id: 'first_order',
  type: 'wait_for_event',
  data: { event_name: 'order.placed', timeout: 'P3D' },
}

const done = { id: 'done', type: 'exit', data: {} }

/** A welcome mail; who has not ordered within three days gets a second mail. */
export const welcomeSeries = {
  nodes: [
    signedUp,
    welcome,
    firstOrder,
    {
      id: 'free_delivery',
      type: 'send_email',
      data: {
        subject: 'Your first order comes free of delivery costs',
        html: `<p>Use the code HELLO when you order.</p>${unsubscribe}`,
      },
    },
    done,
  ],
  edges: [
    { id: 'e1', source: 'signed_up', target: 'welcome' },
    { id: 'e2', source: 'welcome', target: 'first_order' },
    { id: 'e3', source: 'first_order', sourceHandle: 'received', target: 'done' },
    { id: 'e4', source: 'first_order', sourceHandle: 'timeout', target: 'free_delivery' },
    { id: 'e5', source: 'free_delivery', target: 'done' },
  ],
  settings: { default_from: exampleSender },
}

/** The welcome mail alone. */
export const oneMail = {
  nodes: [signedUp, welcome, done],
  edges: [
    { id: 'e1', source: 'signed_up', target: 'welcome' },
    { id: 'e2', source: 'welcome', target: 'done' },
  ],
  settings: { default_from: exampleSender },
}

/** Two mistakes: a duration that is none, and no way out when the time has run out. */
export const faultyDesign = {
  nodes: [
    signedUp,
    { ...firstOrder, data: { event_name: 'order.placed', timeout: '3 days' } },
    done,
  ],
  edges: [
    { id: 'e1', source: 'signed_up', target: 'first_order' },
    { id: 'e2', source: 'first_order', sourceHandle: 'received', target: 'done' },
  ],
}
