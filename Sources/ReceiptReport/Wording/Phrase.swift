/// A text in every language. `{0}`, `{1}` are the places of values.
@_spi(Surfaces) public protocol Words: Sendable {
    func text(in language: Language) -> StaticString
}

/// The texts of the report. `{0}`, `{1}` are the places of values.
///
/// A new text is a case here, with its words in both languages in `Phrase+Table.swift`.
enum Phrase: Words, CaseIterable {
    // The frame
    case title, skipToContents, navigation, purchases, timeline, footer, timesInUTC, timesInZone
    case pieceNumber, characters, showAll

    // The verdict
    case genuineByApple, genuineByRoot, genuineByXcode, genuineWithoutApp, genuineAppless, notAccepted, notGenuine,
        notEvidence
    case signedUnreadable, partRefused, notChecked, notRead, several, severalNone, severalAll
    case sandboxNote, xcodeNote

    // The four questions
    case isItGenuine, whichApp, whatNow, whyRefused
    case yesApple, yesRoot, onlyXcode, yesNotAccepted, no, unproved, yesUnreadable, unknown, someGenuine
    case noAppStated, appUnreadable, claimedApp, claimedAppNote, appsMore, nothingNow, nothingProved, ownedUntil,
        ownedForever,
        consumableQuantity, otherCount
    case nothingRefused, uncheckedApp, uncheckedEnvironment, limits

    // Checks
    case checks, checkForm, checkStructure, checkSignature, checkDate, checkChain, checkPayload, checkPolicy
    case aboutForm, aboutStructure, aboutSignature, aboutDate, aboutChain, aboutPayload, aboutPolicy
    case passed, failed, notReached, reason, remedy, found, expected, place, code, offset, inPart, looksLike,
        unwrapped
    case noCheckReached, operatingSystem

    // Signer
    case whoSigned, chainVerified, chainUnverified, root, intermediate, signer, certificate, validFromTo, fingerprint
    case validityPicture, unreadableCertificate, chainPassed,
        moreCertificates

    // Kinds
    case receipt, transaction, renewalInfo, appTransaction, notification, realtimeRequest, transactionReceipt,
        unknownKind, storeKitJWS
    case environment, production, sandbox, xcode, localTesting

    // Purchases
    case noPurchases, purchaseCount, rowsShown, incompletePurchases
    case product, gives, why, bought, identifiers, transactionID, originalTransactionID, quantityOf, seatsOf
    case active, owned, consumable, notYet, expired, revoked, upgraded, lengthUnknown, undetermined
    case whyActive, whyActiveGrace, whyOwned, whyConsumable, whyConsumablePart, whyNotYet, whyExpired,
        whyEvidenceExpired, whyRevoked, whyRevokedUndated
    case whyFamilyRevoked, whyAssignmentRevoked, whyUpgraded, whyUpgradedUndated, whyLengthUnknown, whyUndetermined,
        whyUnknownValue, whyEnvironmentMissing, whyAppMissing, whyQuantity
    case reasonAppIssue, refundFull, refundPart, familyShared, assigned, restoredCopy, statedType, contradictedType
    case price, seatPrice, buyersPrice, totalPrice, storefront
    case offerIntroductory, offerTrial, offerPromotional, offerCode, offerWinBack, offerRetention, offerOther
    case typeConsumable, typeNonConsumable, typeNonRenewing, typeAutoRenewable, typeFree, typeUnknown

    // Timeline
    case timelineAbout, oneTimePurchases, subscription, timelinePicture, decidedFor
    case eventBought, eventRenewed, eventUpgradedTo, eventChangedTo, eventGap, eventGrace, eventRefunded, eventExpires,
        eventExpired, eventEarlier, eventRestored
    case renewsOn, renewsOff, renewsUnknown, nextCharge, renewsAs, renewalSeats, renewalPrice, renewalSeatPrice,
        renewalOffer, renewalOfferID, renewalAsOf, increasePending, increaseAgreed, retrying, gracePeriod, inGracePeriod
    case expirationCancelled, expirationBilling, expirationPrice, expirationProduct, expirationOther
    case legendPaid, legendOffer, legendGrace, legendRefunded, legendReplaced, legendFuture, legendGap, legendChange,
        moreSubscriptions

    // Contents
    case contents, contentsVerified, contentsUnaccepted, contentsUnverified, header, payload, signature,
        moreRows
    case purchaseAttributes
    case structure, structureAbout, structureRest, structureMalformed, propertyList, structureShared

    // Characters
    case hiddenCharacters
}
