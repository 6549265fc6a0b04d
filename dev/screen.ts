// What npm start shows: a line for each step, and one screen when all of it is ready.
import { DEMO_EVENT } from './demo.ts'
import type { DevInfo } from './folder.ts'

export type Say = (line: string) => void

/** Prints lines with the seconds since the start in front. */
export function createSay(): (part: string) => Say {
  const begin = Date.now()
  return (part) => (line) => {
    const seconds = ((Date.now() - begin) / 1000).toFixed(1).padStart(5)
    process.stdout.write(`${seconds} s  ${part.padEnd(9)} ${line}\n`)
  }
}

function curl(info: DevInfo, path: string, body: object): string {
  return [
    `  curl -X POST ${info.api_url}${path} \\`,
    `    -H 'Authorization: Bearer ${info.api_key}' -H 'Content-Type: application/json' \\`,
    `    -d '${JSON.stringify(body)}'`,
  ].join('\n')
}

/** The one screen: addresses, key, and two commands that show what this does. */
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
Dripline is ready. Ctrl-C stops it; its data and logs are in ${dataFolder}.

  API           ${info.api_url}    (operations: ${info.api_url}/docs)
  API key       ${info.api_key}
  Inbox         ${inbox}
  Temporal UI   ${ui}
  Metrics       ${info.metrics_url}    (API: ${info.api_metrics_url})
  Bounces       ${info.inbound_url}
  Postgres      ${info.database_url.replace(/:[^:@/]*@/, ':***@')}
  All of this   ${dataFolder}/dev.json

Send a mail, and see it in the inbox:
${curl(info, '/v1/emails', mail)}

Send an event, and see its execution in the Temporal UI, WAITING between three mails:
${curl(info, '/v1/automation/events', event)}

`
}
