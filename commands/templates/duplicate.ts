// Copies a template: the content of its current version, with another name and without an alias.

import { findTemplate } from '../../db/templates/reads.ts'
import { limits } from '../../rules/limits.ts'
import type { Reach } from '../../rules/reach.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { createTemplate } from './create.ts'
import { checkTemplateReach } from './users.ts'

const SUFFIX = ' (copy)'

/** @returns the copy's id */
export async function duplicateTemplate(
  deps: CommandDeps,
  reach: Reach,
  { idOrAlias }: { idOrAlias: string },
): Promise<
  | string
  | Refusal<
      | 'template_not_found'
      | 'invalid_template'
      | 'alias_taken'
      | 'domain_not_of_key'
      | 'template_not_of_key'
    >
> {
  const stored = await findTemplate(deps.db, reach.workspaceId, idOrAlias)
  if (!stored) return refuse('template_not_found', { idOrAlias })
  const foreign = await checkTemplateReach(deps, reach, stored)
  if (foreign) return foreign
  const { subject, from, reply_to, preview_text, html, text } = stored
  // Half of a character cannot be stored.
  const begin = stored.name.slice(0, limits.nameCharsMax - SUFFIX.length)
  const name = begin.replace(/[\ud800-\udbff]$/, '') + SUFFIX
  const copy = { name, subject, from, reply_to, preview_text, html, text }
  return createTemplate(deps, reach, copy)
}
