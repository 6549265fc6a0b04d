// Designs that several tests run.

export const welcomeDesign = {
  nodes: [
    { id: 'start', type: 'trigger', data: { kind: 'event', event_name: 'user.signed_up' } },
    {
      id: 'hello',
      type: 'send_email',
      data: {
        from: 'Team <hello@sender.test>',
        subject: 'Welcome {{ contact.first_name }}',
        html: '<p>Hello {{ contact.first_name }}, you are on {{ event.plan }}.</p><a href="{{ unsubscribe_url }}">Leave</a>',
      },
    },
    { id: 'wait', type: 'wait_for_event', data: { event_name: 'user.activated', timeout: 'P3D' } },
    {
      id: 'thanks',
      type: 'send_email',
      data: {
        from: 'Team <hello@sender.test>',
        subject: 'Thanks {{ contact.first_name }}',
        html: '<p>Thank you.</p>',
        category: 'transactional',
      },
    },
    { id: 'end', type: 'exit', data: {} },
  ],
  edges: [
    { id: 'e1', source: 'start', target: 'hello' },
    { id: 'e2', source: 'hello', target: 'wait' },
    { id: 'e3', source: 'wait', target: 'thanks', sourceHandle: 'received' },
    { id: 'e4', source: 'wait', target: 'end', sourceHandle: 'timeout' },
    { id: 'e5', source: 'thanks', target: 'end' },
  ],
}
