// Checks designs: what any stored one must have, and what an active one must have.
import { findAudienceIds, findTemplateFacts } from '../../db/designFacts.ts'
import { listSendingDomains } from '../../db/segmentSources.ts'
import { addressDomain, parseMailbox } from '../../domain/addresses.ts'
import type { Design, Problem } from '../../domain/design.ts'
import { checkDesignShape, designReferences, validateDesign } from '../../domain/validateDesign.ts'
import { parseTemplate } from '../../mail/template.ts'
import type { ApiDeps } from '../deps.ts'
import { ApiError } from '../errors.ts'

type Deps = Pick<ApiDeps, 'db' | 'config'>

/** Every problem that keeps the design from being activated in this workspace. */
export async function findDesignProblems(
  { db, config }: Deps,
  workspaceId: string,
  design: unknown,
): Promise<Problem[]> {
  const { templateIds, fromAddresses, audienceIds } = designReferences(design)
  const templates = await findTemplateFacts(db, workspaceId, templateIds)
  const senders = [...fromAddresses, ...[...templates.values()].flatMap(({ from }) => from ?? [])]
  const domainNames = senders.flatMap((sender) => {
    const address = parseMailbox(sender)?.address
    return address ? [addressDomain(address)] : []
  })
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

const invalidDesign = (problems: Problem[]) =>
  new ApiError(400, 'invalid_design', 'Workflow design is invalid', { extra: { problems } })

/**
 * Refuses what can be no draft, and when it is to be active whatever cannot run.
 * @throws ApiError 400 `invalid_design` with every problem
 */
export async function requireDesign(
  deps: Deps,
  workspaceId: string,
  design: unknown,
  use: 'draft' | 'active',
): Promise<Design> {
  const shape = checkDesignShape(design)
  if (use === 'draft') {
    if (shape.problems) throw invalidDesign(shape.problems)
  } else {
    const problems = await findDesignProblems(deps, workspaceId, design)
    if (problems.length > 0) throw invalidDesign(problems)
  }
  return design as Design
}
