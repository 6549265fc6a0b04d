// Checks designs, with the rules for a draft or with those for an active workflow.

import type { Db } from '../../db/connect.ts'
import { listSendingDomains } from '../../db/domains/sending.ts'
import { findKnown } from '../../db/known.ts'
import { findSecretNames } from '../../db/secrets/reads.ts'
import { findTemplateFacts } from '../../db/templates/reads.ts'
import { lockTemplatesShared } from '../../db/templates/writes.ts'
import { findWorkflowVersion, type WorkflowRow } from '../../db/workflows/reads.ts'
import { parseTemplate } from '../../mail/content/template.ts'
import { senderDomain } from '../../rules/addresses.ts'
import type { Problem } from '../../rules/design/problem.ts'
import { designReferences } from '../../rules/design/references.ts'
import { checkDesignShape } from '../../rules/design/shape.ts'
import { type ScheduleTrigger, scheduleTriggers } from '../../rules/design/triggers.ts'
import type { Design } from '../../rules/design/types.ts'
import { validateDesign } from '../../rules/design/validate.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Json } from '../../rules/json.ts'
import { nodeRegistry } from '../../rules/nodes/index.ts'
import type { Reach } from '../../rules/reach.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import { secretNamesIn } from '../../rules/secretNames.ts'
import type { CommandDeps } from '../deps.ts'
import { boundDomainName } from '../domains/sender.ts'
import type { InTrx } from '../transact.ts'

type Deps = Pick<CommandDeps, 'db' | 'config' | 'now'>

/** For what version a design is checked. */
interface CheckedFor {
  /** The domain whose secrets alone it will read, as the bound key that wrote it; null: all. Absent: that of the caller. */
  boundTo?: string | null
  /** The workflow that gets the version: schedules of its last active one may be over. Absent: a new workflow. */
  workflow?: Pick<WorkflowRow, 'id' | 'status' | 'active_version'>
}

/** Every problem that keeps the design from being activated in this workspace. */
export async function findDesignProblems(
  { db, config, now }: Deps,
  reach: Reach,
  design: unknown,
  { boundTo = reach.domainId, workflow }: CheckedFor = {},
): Promise<Problem[]> {
  const { workspaceId, domainId } = reach
  const named = designReferences(design)
  const { templateIds, audienceIds, segmentIds, workflowIds } = named
  const templates = await findTemplateFacts(db, workspaceId, templateIds)
  const ofTemplates = [...templates.values()].flatMap(({ from }) => from ?? [])
  const addresses = [...named.fromAddresses, ...named.teamAddresses, ...ofTemplates]
  const domainNames = addresses.flatMap((address) => senderDomain(address) ?? [])
  const [domains, audiences, segments, workflows, secrets, activeSchedules] = await Promise.all([
    listSendingDomains(db, workspaceId, [...new Set(domainNames)]),
    findKnown(db, workspaceId, 'audience', audienceIds),
    findKnown(db, workspaceId, 'segment', segmentIds),
    findKnown(db, workspaceId, 'workflow', workflowIds),
    findSecretNames(db, { workspaceId, domainId: boundTo }, secretNamesIn([design as Json])),
    workflow ? listActiveSchedules(db, workspaceId, workflow) : [],
  ])
  const sending = [...domains].filter(
    ([, domain]) =>
      (domain.verified || config.allowUnverifiedDomains) &&
      (domainId === null || domain.id === domainId),
  )
  return validateDesign(design, {
    templates,
    secrets,
    verifiedDomains: new Set(sending.map(([name]) => name)),
    isBound: domainId !== null,
    audiences,
    segments,
    workflows,
    now: now().getTime(),
    activeSchedules,
    liquidProblem(source) {
      const parsed = parseTemplate(source)
      return parsed.ok ? null : `${parsed.message} (line ${parsed.line}, column ${parsed.column})`
    },
  })
}

/** The schedules of the version that is active, or was before the workflow was paused. */
async function listActiveSchedules(
  db: Db,
  workspaceId: WorkspaceId,
  { id, status, active_version }: Pick<WorkflowRow, 'id' | 'status' | 'active_version'>,
): Promise<ScheduleTrigger[]> {
  const stored = await findWorkflowVersion(db, workspaceId, id, active_version)
  if (!stored) return []
  const design = stored.design as Design
  // A pause has ended its schedules. What it holds must be able to go on; else nothing of them is left.
  const goesOn = status === 'active' || design.settings?.on_pause === 'hold'
  return goesOn ? scheduleTriggers(design) : []
}

/**
 * The nodes and settings of a design that send from another domain than the one that the caller is bound to, by a
 * `from` of their own, a template's or `default_from`, or to a team there, or read secrets that are not that domain's;
 * none for a caller who is bound to none.
 */
export async function findForeignParts(
  deps: Deps,
  reach: Reach,
  design: unknown,
): Promise<Problem[]> {
  const own = await boundDomainName(deps, reach)
  if (own === null) return []
  const { templateIds } = designReferences(design)
  const templates = await findTemplateFacts(deps.db, reach.workspaceId, templateIds)
  const context = {
    templates,
    secrets: await findSecretNames(deps.db, reach, secretNamesIn([design as Json])),
    verifiedDomains: new Set([own]),
    audiences: new Set<string>(),
    workflows: new Set<string>(),
  }
  const isForeign = ({ code }: Problem) =>
    code === 'domain_not_verified' || code === 'unknown_secret'
  return validateDesign(design, { ...context, isBound: true }, nodeRegistry, isForeign)
}

/**
 * Refuses a design with all its problems: those of its shape for a draft, and every problem for an active
 * workflow. A caller who is bound to one domain may write none that sends from another or reads another's secrets, as a draft
 * neither. What an active workflow sends cannot be deleted, so its templates are kept as they are from the check to the commit.
 * @returns the checked design
 */
export async function requireDesign(
  deps: InTrx<Deps>,
  reach: Reach,
  design: unknown,
  use: 'draft' | 'active',
  of: CheckedFor = {},
): Promise<Design | Refusal<'invalid_design'>> {
  if (use === 'active') {
    await lockTemplatesShared(deps.db, reach.workspaceId, designReferences(design).templateIds)
  }
  const problems =
    use === 'draft'
      ? checkDesignShape(design).problems
      : await findDesignProblems(deps, reach, design, of)
  const found = problems?.length ? problems : await findForeignParts(deps, reach, design)
  if (found.length > 0) return refuse('invalid_design', { problems: found })
  return design as Design
}
