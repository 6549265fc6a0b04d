// Checks a sending domain: asks the DNS, then writes what it found and what follows from it in one transaction.
import { type CheckOutcome, findDomainToCheck, updateCheckedDomain } from '../db/domains/checks.ts'
import type { ActivityDeps } from '../delivery/deps.ts'
import { checkDomain, type DomainFindings } from '../mail/dns/domainChecks.ts'
import { createDns } from '../mail/dns/resolver.ts'
import { mailSender } from '../rules/mail/domainRecords.ts'
import {
  afterCheck,
  judge,
  KEY_NOTICE_MS,
  keysToRetire,
  nextCheckMs,
  signingKey,
} from '../rules/mail/domainSchedule.ts'
import type { DomainStatus } from '../rules/states.ts'
import type { CheckDomainInput, CheckDomainResult } from '../workflows/messages.ts'

type Checked = NonNullable<Awaited<ReturnType<typeof findDomainToCheck>>>

export function domainActivities({ db, now, config }: Pick<ActivityDeps, 'db' | 'now' | 'config'>) {
  const sender = mailSender(config)
  return {
    /** Errors: none of its own; Postgres' are tried again. A DNS that does not answer is a finding, no error. */
    async checkDomain({ domainId }: CheckDomainInput): Promise<CheckDomainResult> {
      const domain = await findDomainToCheck(db, domainId, { lock: false })
      if (!domain) return { next_ms: null }
      const { tracking_domain: host } = domain
      // Made for this check alone, since a resolver remembers what it was told.
      const dns = createDns({ servers: config.dnsServers })
      const tracking = host === null ? null : { host, target: sender.tracking }
      const findings = await checkDomain(dns, { ...domain, tracking }, sender)
      return db.transaction().execute(async (trx) => {
        const current = await findDomainToCheck(trx, domainId, { lock: true })
        if (!current) return { next_ms: null }
        const { outcome, next_ms } = conclude(current, domain, findings, now())
        await updateCheckedDomain(trx, domainId, outcome)
        return { next_ms }
      })
    },
  }
}

/** What findings mean for a domain as it is now; it may have changed since it was `asked` about. */
function conclude(
  current: Checked,
  asked: Checked,
  findings: DomainFindings,
  now: Date,
): { outcome: CheckOutcome; next_ms: number | null } {
  const { keys } = current
  const { soa, mx, spf, dmarc, dkim } = findings
  const signing = signingKey(keys, 'rsa', now) ?? keys.find((key) => key.algorithm === 'rsa')
  const signed = (signing && dkim[signing.selector]) ?? 'SERVICE_ERROR'
  const { finding, error } = judge([signed, mx, spf])
  const before = {
    status: current.status as DomainStatus,
    checkingSince: current.checking_since ?? now,
    failingSince: current.failing_since,
    misses: current.misses,
  }
  const after = afterCheck(before, finding, now)

  const unseen = keys.filter((key) => key.activated_at === null)
  const seen = unseen.filter((key) => dkim[key.selector] === 'SUCCESS')
  const sameHost = current.tracking_domain === asked.tracking_domain
  const tracking = sameHost ? findings.tracking : null
  const outcome: CheckOutcome = {
    domain: {
      status: after.status,
      checking_since: after.checkingSince,
      failing_since: after.failingSince,
      misses: after.misses,
      error_type: error,
      record_states: { mx, spf, dmarc, dkim, ...trackingState(current, tracking) },
      last_checked_at: now,
      ...(finding === 'found' ? { last_success_at: now } : {}),
    },
    soa,
    activate: {
      ids: seen.map(({ id }) => id),
      at: new Date(now.getTime() + KEY_NOTICE_MS),
    },
    retire: { ids: keysToRetire(keys, now), at: now },
  }
  const waiting = unseen.filter((key) => !seen.includes(key)).map((key) => key.created_at)
  return { outcome, next_ms: nextCheckMs(after, waiting, now) }
}

/** A DNS that did not answer leaves what is known of the tracking host: links must not change with its moods. */
function trackingState(current: Checked, found: DomainFindings['tracking']) {
  const known = current.record_states['tracking']
  const unanswered = found === null || found === 'DNS_SERVER_ERROR' || found === 'SERVICE_ERROR'
  if (unanswered && known === 'SUCCESS' && current.tracking_domain) return { tracking: known }
  return found === null ? {} : { tracking: found }
}
