// The screen of npm start when everything is ready: addresses, the key, and two commands to try.
import { DEMO_EVENT, DEMO_WAIT_S } from './demo.ts'
import type { DevInfo } from './folder.ts'

function curl(info: DevInfo, path: string, body: object): string {
  return [
    `  curl -X POST ${info.api_url}${path} \\`,
    `    -H 'Authorization: Bearer ${info.api_key}' -H 'Content-Type: application/json' \\`,
    `    -d '${JSON.stringify(body)}'`,
  ].join('\n')
}

/** The screen, under 20 lines. Everything else is in dev.json. */
export function screen(info: DevInfo, dataFolder: string): string {
  const mail = {
    from: 'Dripline Demo <hello@demo.test>',
    to: 'ada@example.com',
    subject: 'Hello',
    html: '<p>It works.</p>',
  }
  const event = {
    event_name: DEMO_EVENT,
    email: 'ada@example.com',
    contact_properties: { first_name: 'Ada' },
  }
  const inbox = info.inbox_url ?? `(mail goes to ${info.smtp_url.replace(/\/\/[^@/]*@/, '//')})`
  const ui = info.temporal_ui_url ?? `(of the server at ${info.temporal_address})`
  return `
Dripline is ready. Ctrl-C stops it. Logs and all other addresses: ${dataFolder} (dev.json)

  API          ${info.api_url}    every operation: ${info.api_url}/docs
  API key      ${info.api_key}
  Inbox        ${inbox}
  Temporal UI  ${ui}

Send a mail, and see it in the inbox:
${curl(info, '/v1/emails', mail)}

Post an event: it starts a workflow of three mails, ${DEMO_WAIT_S} s apart, to watch in inbox and Temporal UI:
${curl(info, '/v1/automation/events', event)}

Next: write a workflow of your own, as README.md shows; docs/workflows.md has every node with examples.
`
}
