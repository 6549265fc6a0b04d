// The names that a template may use, and where they are known.
import type { TemplateScope } from '../../mail/content/template.ts'
import { code, markdownTable } from './markdown.ts'

/** What each name holds in the mail of a workflow; a name that templates learn has to be said here. */
const texts: Record<keyof TemplateScope, [name: string, text: string][]> = {
  contact: [
    ['contact.email', 'The address of the contact'],
    ['contact.first_name', 'Their property `first_name`'],
    ['contact.last_name', 'Their property `last_name`'],
    ['contact.properties.NAME', 'The same as `properties.NAME`'],
  ],
  properties: [
    ['properties.NAME', 'A property of the contact, with the changes that this execution made'],
  ],
  event: [['event.NAME', 'A property of the event that started the execution']],
  wait_events: [
    [
      'wait_events.NODE.NAME',
      'A property of the event that ended the wait of the node with that id',
    ],
  ],
  steps: [
    [
      'steps.NAME.body.PATH',
      'What came back from the `http_request` node whose `store_as` is that name; `steps.NAME.status` and `steps.NAME.headers` too',
    ],
  ],
  secrets: [
    ['secrets.NAME', 'A secret of the workspace, in an `http_request` node and nowhere else'],
  ],
  vars: [
    ['vars.NAME', 'A value of `variables` of the `send_email` node'],
    ['NAME', 'The same, unless it is one of the names of this table'],
  ],
  workflow: [
    ['workflow.id', 'The id of the workflow'],
    ['workflow.version', 'The version of its design that the execution runs'],
  ],
  unsubscribe_url: [
    [
      'unsubscribe_url',
      'The link by which the contact leaves this workflow, another for each mail',
    ],
  ],
}

/** Every name with what it holds. */
export function templateNamesTable(): string {
  return markdownTable(
    ['name', 'what it holds'],
    Object.values(texts)
      .flat()
      .map(([name, text]) => [code(name), text]),
  )
}
