// The words before the operations in the interface description: what holds for all of them, and their groups.
import { limits } from '../../rules/limits.ts'

/** Markdown. */
export const guide = `Dripline sends email and runs email automation. Everything here is JSON over HTTP, below \`/v1\`.

## Keys

Send \`Authorization: Bearer <key>\` with each request. The key names the workspace: what belongs to another workspace
does not exist for it. A key may do everything (\`full_access\`), send mail and read it (\`sending_access\`), only post events
(\`events_only\`) or only read (\`read_only\`). The operator makes keys with \`npm run key:create\`.

## Values

Names are in snake_case. Times are milliseconds since 1970 (UTC) unless they are said to be ISO 8601. Ids are a prefix
and 26 characters, and sort by time. A key of a body that is not known is passed over; a wrong type is a 400 that names
the field.

## Lists

A list gives a page of ${limits.pageSize} (audiences: ${limits.audiencesPageSize}), with \`count\`, the number of items on the
page, and \`cursor\`. Send the cursor in the next request (\`?cursor=…\`) to get the next page; it is \`null\` on the last
one. Rows that are added meanwhile are neither shown twice nor make you miss one.

## Errors

An error has a text, in \`message\` or, for workflows, executions and \`/v1/automation\`, in \`error\`; and a \`code\` that
does not change, unless the text itself is the contract. Each operation lists its codes. After a 5xx
the request may have been done or not; a 503 carries \`Retry-After\`. Every answer carries \`X-Request-Id\`: yours, if you send one.

## Repeating a request

Every POST takes an \`Idempotency-Key\`: a name of your own for the request, 1-${limits.idempotencyKeyCharsMax} visible ASCII
characters. Sent again with the same body within 24 hours it gets the first answer, with \`Idempotent-Replayed: true\`, and
nothing is done twice.

## What a 2xx means

It is committed. An email that was accepted is sent, or its failure is recorded; an event that was accepted starts
executions and ends waits, even if every process dies right after the answer.
`

/** The groups of operations, in the order in which the page shows them. */
export const tagGroups = [
  {
    name: 'Emails',
    description: 'Send mail, and read back what became of it, recipient by recipient.',
  },
  {
    name: 'Templates',
    description: 'Subjects and bodies in Liquid. Mail is made from the published version.',
  },
  {
    name: 'Automation events',
    description: 'Tell what a contact did. Events start executions and end waits.',
  },
  {
    name: 'Automation contacts',
    description: 'The people of your workflows: one for each address, with free-form properties.',
  },
  {
    name: 'Workflows',
    description:
      'Automations, drawn as graphs of nodes and edges. A changed design is a new version.',
  },
  {
    name: 'Executions',
    description: 'The runs of workflows: one for each time that a contact entered one.',
  },
  { name: 'Audiences', description: 'Named lists of people.' },
  {
    name: 'Audience contacts',
    description:
      'The people on a list: for each address whether they are subscribed, and their properties.',
  },
  {
    name: 'Domains',
    description: 'The domains that you send from, with their DNS records and keys.',
  },
  {
    name: 'Suppressions',
    description: 'Addresses that nothing is sent to: they bounced, complained, or you said so.',
  },
  {
    name: 'Statistics',
    description: 'How many were sent to, and what became of it, hour by hour or day by day.',
  },
  {
    name: 'API keys',
    description: 'Keys for applications, each with as little power as it needs.',
  },
]
