// The table of what each kind of API key may do, from the rules that decide it.
import { mayCall, type Need, permissions } from '../../rules/permissions.ts'
import { code, markdownTable } from './markdown.ts'

/** In the words of a reader; a need that is added does not compile without its words. */
const words: Readonly<Record<Need, string>> = {
  send: 'send mail',
  read_status: 'read what became of a mail by its id',
  read_mail: 'list sent mail, read its content and attempts',
  post_events: 'post events',
  render: 'render templates',
  read_keys: 'list keys',
  read: 'read all else',
  manage: 'change all else',
}

/** Each permission, with a mark for each thing that it allows. */
export function permissionsTable(): string {
  const needs = Object.keys(words) as Need[]
  const rows = permissions.map((permission) => [
    code(permission),
    ...needs.map((need) => (mayCall(permission, need) ? 'yes' : '')),
  ])
  return markdownTable(['permission', ...needs.map((need) => words[need])], rows)
}
