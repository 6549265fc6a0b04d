// The table of states, from the transitions that types, SQL guards and tests follow.
import {
  deliveryTransitions,
  domainTransitions,
  executionTransitions,
  workflowTransitions,
} from '../../rules/states.ts'
import { code, codes, markdownTable } from './markdown.ts'

const resources: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  workflow: workflowTransitions,
  execution: executionTransitions,
  delivery: deliveryTransitions,
  domain: domainTransitions,
}

/** Each state of each resource, with the states that may follow it. */
export function statesTable(): string {
  const rows = Object.entries(resources).flatMap(([resource, transitions]) =>
    Object.entries(transitions).map(([state, next]) => [resource, code(state), codes(next)]),
  )
  return markdownTable(['resource', 'state', 'next'], rows)
}
