// Checks designs, with the rules for a draft or with those for an active workflow.

import { findAudienceIds } from '../../db/audiences/reads.ts'
import { listSendingDomains } from '../../db/domains/sending.ts'
import { findTemplateFacts } from '../../db/templates/reads.ts'
import { parseTemplate } from '../../mail/content/template.ts'
import { senderDomain } from '../../rules/addresses.ts'
import type { Problem } from '../../rules/design/problem.ts'
import { designReferences } from '../../rules/design/references.ts'
import { checkDesignShape } from '../../rules/design/shape.ts'
import type { Design } from '../../rules/design/types.ts'
import { validateDesign } from '../../rules/design/validate.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'

type Deps = Pick<CommandDeps, 'db' | 'config'>

/** Every problem that keeps the design from being activated in this workspace. */
export async function findDesignProblems(
  { db, config }: Deps,
  workspaceId: WorkspaceId,
  design: unknown,
): Promise<Problem[]> {
  const { templateIds, fromAddresses, audienceIds } = designReferences(design)
  const templates = await findTemplateFacts(db, workspaceId, templateIds)
  const senders = [...fromAddresses, ...[...templates.values()].flatMap(({ from }) => from ?? [])]
  const domainNames = senders.flatMap((sender) => senderDomain(sender) ?? [])
  const [domains, audiences] = await Promise.all([
    listSendingDomains(db, workspaceId, [...new Set(domainNames)]),
    findAudienceIds(db, workspaceId, audienceIds),
  ])
  const sending = [...domains].filter(
    ([, domain]) => domain.verified || config.allowUnverifiedDomains,
  )
  return validateDesign(design, {
    templates,
    verifiedDomains: new Set(sending.map(([name]) => name)),
    audiences,
    liquidProblem(source) {
      const parsed = parseTemplate(source)
      return parsed.ok ? null : `${parsed.message} (line ${parsed.line}, column ${parsed.column})`
    },
  })
}

/**
 * Refuses a design with all its problems: those of its shape for a draft, and every problem for an active
 * workflow.
 * @returns the checked design
 */
export async function requireDesign(
  deps: Deps,
  workspaceId: WorkspaceId,
  design: unknown,
  use: 'draft' | 'active',
): Promise<Design | Refusal<'invalid_design'>> {
  const problems =
    use === 'draft'
      ? checkDesignShape(design).problems
      : await findDesignProblems(deps, workspaceId, design)
  if (problems && problems.length > 0) return refuse('invalid_design', { problems })
  return design as Design
}
