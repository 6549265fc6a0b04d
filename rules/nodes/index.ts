// Every kind of node that a design may hold. A new kind is one file beside this one, and its line here.
import { addToAudience } from './addToAudience.ts'
import { branch } from './branch.ts'
import { cancelWorkflow } from './cancelWorkflow.ts'
import { condition } from './condition.ts'
import { delay } from './delay.ts'
import { exit } from './exit.ts'
import { filter } from './filter.ts'
import { goal } from './goal.ts'
import { httpRequest } from './httpRequest.ts'
import { note } from './note.ts'
import { createRegistry } from './registry.ts'
import { removeFromAudience } from './removeFromAudience.ts'
import { sendEmail } from './sendEmail.ts'
import { sendEvent } from './sendEvent.ts'
import { split } from './split.ts'
import { startWorkflow } from './startWorkflow.ts'
import { timeWindow } from './timeWindow.ts'
import { trigger } from './trigger.ts'
import { unsubscribe } from './unsubscribe.ts'
import { updateContact } from './updateContact.ts'
import { waitForCondition } from './waitForCondition.ts'
import { waitForEvent } from './waitForEvent.ts'
import { waitUntil } from './waitUntil.ts'

export const nodeKinds = [
  trigger,
  sendEmail,
  delay,
  waitUntil,
  waitForEvent,
  waitForCondition,
  timeWindow,
  condition,
  branch,
  split,
  filter,
  updateContact,
  addToAudience,
  removeFromAudience,
  unsubscribe,
  sendEvent,
  startWorkflow,
  cancelWorkflow,
  httpRequest,
  goal,
  exit,
  note,
] as const

export const nodeRegistry = createRegistry(nodeKinds)
