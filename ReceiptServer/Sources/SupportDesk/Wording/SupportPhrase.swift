@_spi(Surfaces) import ReceiptReport

/// The texts of the desk, with placeholders `{0}` and `{1}` for values.
///
/// To add a text, add a case here and its words in both languages in `SupportPhrase+Table.swift`.
enum SupportPhrase: Words, CaseIterable {
    // The frame
    case title, skip, signOut, settings, newSearch, timesInZone, timesInUTC, beijing, limits

    // Signing in
    case signIn, signInAbout, token, tokenRefused, tooManyAttempts, sessionOver, notFromHere, wrongHost,
        refusedForm, ledgerFailed, ledgerUnavailable, language, zone, save

    // The search
    case search, searchLabel, searchAbout, searched, searchedText, nothingFound, nothingFoundAdvice,
        maybeTransaction, maybeOrder, askForOrder, cannotAskApple, moreFound, moreEvidence, foundEvidence,
        reportAbout, nothingRedeemed, noPurchase, unnamedNotifications, unnamedAbout, claimsEnded, claims,
        uncertainClaims, uncertainAbout, endedPeriods, endedAbout, uncertainClaim

    // The answer
    case transactionStory, appleOrder, has, hasPeriod, renewedNow, hadPeriod, hadBefore, nobodyHas, refundedNow,
        partlyRefundedNow, takenBackNow, sandboxNow, anotherAppNow, forgedNow, adjustedNow, ownsWithoutGrant,
        decidedNotYet, decidedExpired, decidedRevoked, decidedUpgraded, decidedUnknown, decidedGrantable, notifiedNow,
        notNotifiedNow, waitingNow, manyWaitNow, nobodyNotified, othersTried, wasTransferredNow, onlyAttempts,
        confirmed, unconfirmed, lengthUnknownNow

    // The story
    case whatHappened, bought, boughtAs, assignedAs, seats, ends, owned, granted, refunded, refundedUndated,
        assignmentRevoked, reasonAppIssue, percent, notificationArrived, tried, triedOften, triedRefused,
        triedRefusedOften, inRequest, transactionIs, transferred, adjusted, gaveProduct, sentAgain, asked, takenBack,
        notified, acknowledged, waiting, dead, triedToNotify, becauseOf, eventGranted, eventRevoked, eventRestored,
        eventAdjusted, eventChanged, eventConflict, eventCancelled, eventUncancelled, eventBillingIssue, eventRecovered,
        eventExpired, eventPriceIncrease, eventProductChange, eventRenewalExtended, eventRefundRequested,
        eventRefundDeclined, moreEntries

    // Facts
    case environment, app, product, order, shopOrder, related, owner, noOwner, production, sandbox, otherEnvironment

    // Accounts and requests
    case accountStory, owns, ownsNothing, ownsItem, ownsUntil, ownsLengthUnknown, renewals, renewalOf,
        accountTokens, tokenSince, moreTokens,
        older,
        attemptStory, digest, evidenceDigest, evidenceKept,
        evidenceNotKept, clientsSend, clientsSendAbout

    // Acts
    case acts, actsAbout, needsScope, reason, sendAgain, sendAgainAbout, transfer, transferAbout, to,
        setQuantity, setQuantityAbout, quantity, followApple, followAppleAbout, grantProduct,
        grantProductAbout, productID, bundleID, askApple, askAppleAbout, didSend, didTransfer, didAdjust,
        didGrant, didBefore, didAsk, actNotFound, actInvalid, actRefunded, actFailed,
        actForbidden, actNoReason, actTooOld, actNoNumber, appleAnswered, appleUnknown, appleUnavailable, appleRefused,
        appleSettings, appleInvalid, applePartial, didAskPartly, didRefuse, ifRefused, recordNothing, recordRest
}
