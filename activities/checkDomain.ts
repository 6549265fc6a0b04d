// Checks a sending domain: asks the DNS, then has what it found written.
import { recordDomainCheck } from '../commands/domains/recordCheck.ts'
import { findDomainToCheck } from '../db/domains/checks.ts'
import { checkDomain } from '../mail/dns/domainChecks.ts'
import { createDns } from '../mail/dns/resolver.ts'
import { mailSender } from '../rules/mail/domainRecords.ts'
import type { CheckDomainInput, CheckDomainResult } from '../workflows/messages.ts'
import type { ActivityDeps } from './deps.ts'

/** The activities of `verifyDomain`. */
export function domainActivities(deps: Pick<ActivityDeps, 'db' | 'now' | 'wake' | 'config'>) {
  const { db, config } = deps
  const sender = mailSender(config)
  return {
    /** Errors: none of its own; Postgres' are tried again. A DNS that does not answer is a finding, no error. */
    async checkDomain({ domainId }: CheckDomainInput): Promise<CheckDomainResult> {
      const domain = await findDomainToCheck(db, domainId)
      if (!domain) return { next_ms: null }
      const { tracking_domain: host } = domain
      // Made for this check alone, since a resolver remembers what it was told.
      const dns = createDns({ servers: config.dnsServers })
      const tracking = host === null ? null : { host, target: sender.tracking }
      const findings = await checkDomain(dns, { ...domain, tracking }, sender)
      const input = { id: domainId, trackingDomain: host, findings }
      return recordDomainCheck(deps, domain.workspace_id, input)
    },
  }
}
