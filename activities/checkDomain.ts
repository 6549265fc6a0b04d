// Checks a sending domain: looks up its records in DNS and stores what was found.
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
    /**
     * Throws only errors of Postgres, which Temporal tries again. An unanswered DNS question is a finding, not an
     * error.
     */
    async checkDomain({ domainId }: CheckDomainInput): Promise<CheckDomainResult> {
      const domain = await findDomainToCheck(db, domainId)
      if (!domain) return { next_ms: null }
      const { tracking_domain: host } = domain
      // A new resolver for each check, because a resolver caches its answers.
      const dns = createDns({ servers: config.dnsServers })
      const tracking = host === null ? null : { host, target: sender.tracking }
      const findings = await checkDomain(dns, { ...domain, tracking }, sender)
      const input = { id: domainId, trackingDomain: host, findings }
      return recordDomainCheck(deps, domain.workspace_id, input)
    },
  }
}
