// Every kind of node that a design may hold. A new kind is one file beside this one, and its line here.
import { branch } from './branch.ts'
import { condition } from './condition.ts'
import { delay } from './delay.ts'
import { exit } from './exit.ts'
import { note } from './note.ts'
import { createRegistry } from './registry.ts'
import { sendEmail } from './sendEmail.ts'
import { trigger } from './trigger.ts'
import { updateContact } from './updateContact.ts'
import { waitForEvent } from './waitForEvent.ts'

export const nodeKinds = [
  trigger,
  sendEmail,
  delay,
  waitForEvent,
  condition,
  branch,
  updateContact,
  exit,
  note,
] as const

export const nodeRegistry = createRegistry(nodeKinds)
