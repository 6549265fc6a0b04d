// Finds the workflows that send a template, and whether a caller who is bound to one domain may change it.

import type { Db } from '../../db/connect.ts'
import { findTemplateFacts, type TemplateRow } from '../../db/templates/reads.ts'
import { listUsedDesignsHolding } from '../../db/workflows/usedDesigns.ts'
import { senderDomain } from '../../rules/addresses.ts'
import { designReferences } from '../../rules/design/references.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Reach } from '../../rules/reach.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import { boundDomainName, checkSender } from '../domains/sender.ts'

/**
 * The designs that send a template, or may do so again; one workflow may have several.
 * @param names its id and its aliases
 */
export async function findDesignsSending(db: Db, workspaceId: WorkspaceId, names: string[]) {
  const designs = await listUsedDesignsHolding(db, workspaceId, names)
  return designs.flatMap(({ id, isActive, design }) => {
    const { templateIds, fromAddresses } = designReferences(design)
    return templateIds.some((name) => names.includes(name)) ? [{ id, isActive, fromAddresses }] : []
  })
}

/**
 * Refuses a caller who is bound to one domain when the template sends from another one: by the `from` of its current or
 * its published version, or because a workflow that sends from another domain uses it. The text of that mail is theirs.
 * @param alias one that the template is to get
 */
export async function checkTemplateReach(
  deps: { db: Db },
  reach: Reach,
  stored: TemplateRow,
  alias: string | null = null,
): Promise<Refusal<'domain_not_of_key' | 'template_not_of_key'> | undefined> {
  const own = await boundDomainName(deps, reach)
  if (own === null) return undefined
  const published = await findTemplateFacts(deps.db, reach.workspaceId, [stored.id])
  for (const from of [stored.from, published.get(stored.id)?.from ?? null]) {
    const foreign = await checkSender(deps, reach, from)
    if (foreign) return foreign
  }
  const names = [stored.id, stored.alias, alias].filter((name) => name !== null)
  return findForeignUse(deps, reach.workspaceId, own, names)
}

/** Refuses a caller who is bound to one domain an alias by which a workflow sends from another one: the text of that mail would be theirs. */
export async function checkAliasReach(
  deps: { db: Db },
  reach: Reach,
  alias: string,
): Promise<Refusal<'template_not_of_key'> | undefined> {
  const own = await boundDomainName(deps, reach)
  return own === null ? undefined : findForeignUse(deps, reach.workspaceId, own, [alias])
}

async function findForeignUse(
  { db }: { db: Db },
  workspaceId: WorkspaceId,
  own: string,
  names: string[],
): Promise<Refusal<'template_not_of_key'> | undefined> {
  for (const { id, fromAddresses } of await findDesignsSending(db, workspaceId, names)) {
    const domains = fromAddresses.flatMap((from) => senderDomain(from) ?? [])
    const name = domains.find((domain) => domain !== own)
    if (name !== undefined) return refuse('template_not_of_key', { workflowId: id, name })
  }
  return undefined
}
