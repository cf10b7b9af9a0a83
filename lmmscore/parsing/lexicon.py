"""The words that judges use about scores and pictures, each in one class.

A sentence is read as the row of the classes of its words, and rules speak of classes, never of
words: a new word is a word in a list here, a new rule is a new way of putting classes together.
What no list holds is UNKNOWN, and no rule takes it for harmless by itself.

`guess*` stands for every word that begins so; `_` joins the words of a phrase.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

NO_SCORE = (
    r"(?:n\.?/?a\b|nan\b|tb[dac]\b|nil\b|null\b|(?:none|missing|blank|unclear|unknown)\b"
    r"(?![ ](?:of|the|an?|its|whether|how|why|what|which)\b)"
    r"|skipped\b|omitted\b|pending\b|withheld\b|und(?:ecid|etermin)ed\b"
    r"|un(?:scor|rat|judg|grad)ed\b|left[ ](?:out|open|blank|unscored)\b"
    r"|abstain(?:ed)?\b|refused\b|declined\b"
    r"|no[ ](?:score|rating|grade|mark|number|value|verdict)s?\b"
    r"|not[ ](?:scored|rated|judged|graded|given|assessed|evaluated|applicable|available|provided"
    r"|assigned|determined|assessable|scorable)\b"
    r"|k\.[ ]?A\.|keine[ ](?:Angabe|Wertung|Bewertung|Note)\b|nicht[ ]bewertet\b"
    r"|non[ ](?:noté|évalué)e?\b|sans[ ]note\b|sin[ ](?:puntuación|puntaje|nota)\b"
    r"|no[ ]evaluad[ao]\b|sem[ ]nota\b|senza[ ]voto\b|без[ ]оценки\b"
    r"|未评分|未打分|不适用|未評価|採点なし|評価なし|미평가|점수[ ]없음)"
)
"""How a score is said to be missing, in words; a pattern that does not mind case."""

WORDS = {
    # --- Words that hold sentences together ---
    "SELF": """
        i me my mine we our us myself i'm i've i'd we've we'd ich mein meine meinen
        wir je j'ai mes ma mon mi mis yo io miei mie minha minhas meu meus ik mijn moje 我
        我的 私 저 제 мой моя мои мне меня я language_model ai_language_model as_an_ai
        as_an_ai_language_model mia
        meiner meines meinem mio notre nos nuestr* nossa nossas 私の 제가 我们""",
    "YOU": """
        you your yours you've you'd you'll you're yourself vous votre vos dein deine deinen
        usted ustedes tus você vocês 您 您的 你 你的 あなた 당신""",
    "THE": """
        each_other one_another the_only_thing any_of all_of either_of both_of each_of one_of
        some_of the a an each every both either any some all such whole entire respective
        several few most its their his her der die das den des ein eine le la un une el los
        las il lo gli una o os uma 这 那 该 same todas todos tutti toutes tous alle すべて
        모든 все
        chaque cada ogni jede jedes jeder jedem dem einer eines einem それぞれ 各 每 각 각각
        chacun chacune ambas ambos entrambe deux_images 所有 全部 各画像 両方 모두 l' gesamte
        dello degli dei ciascun* ciascuna""",
    "BE": """
        appears_to_be seems_to_be appear_to_be seem_to_be
        is are was were be been being am i.e. ist sind war waren sei est sont était son es
        están está sono è são 是 为 でした 입니다 это ます ました します しました いたします
        なります となります 합니다 했습니다 드립니다 sind_wie estão estas_son foram wurden
        wurde worden été ont ai 되었습니다 can_be bin いたしました""",
    "HAVE": "have_just do does did have has having done_so able",
    "HAD": "had",
    "WILL": "will would shall may going let's wird würde i'll we'll",
    "MIGHT": """
        could might maybe perhaps possibly probably presumably likely vielleicht possible
        ideal ideally""",
    "MUST": "should must need needs needed ought has_to have_to required needing",
    "NOT": """
        not no never none nobody nor neither cannot without unable lack* isn't aren't wasn't
        weren't don't doesn't didn't can't couldn't won't wouldn't haven't hasn't hadn't
        shouldn't ain't hardly absence nicht kein* ohne nie niemals ne pas aucun* sans jamais
        nunca ningun* sin não nenhum* sem non nessun* senza niet geen yok не нет без 无法 没有
        没 無 无 不能 不到 不 未 ない ません なかっ できず 없 않 못
        inte ingen inga utan ikke nelze bez brak değil không chưa لا لم تعذر بدون 열리지
        開けま 開けな 開けず""",
    "FAIL": "fail*",
    "NOTHING": "nothing",
    "LIMIT": """
        only just merely solely purely simply alone except exclusively nur solo seulement 仅
        只""",
    "IF": """
        if unless whether in_case wenn falls
        si もし 如果 若 假如 만약""",
    "IT": """
        it they them which who whom whose it's they're there there's that's that
        everything_else all_else everything_but hay""",
    "LINK": """
        and or but so as for in on at with of per about into within under upon over between
        as_soon_as turned_out gone_back_over going_back_over looking_back back_to among across
        along also then thus therefore while where when what how why because since though
        although yet however again very well quite accordingly regarding considering
        given_that together e g e.g. vs via up out off who's if_any where_in und oder für mit
        zu zum im et ou avec de du y para con em di del della dans 的 和 と の が after like x
        q bei en 在 as_far_as_possible like_this context pour les still in_case_of_doubt
        throughout は delle 는 은 auf aus nach anhand basierend durch après selon sur_la_base
        según tras basad* basé* secondo dopo base_a com após pelo pela nel nella dal alla aux
        au à par que qui sowie einschließlich 根据 基于 按照 按 依据 以及 与 及 从 到 中 による
        に を で も に基づ 和其 경과 를 을 의 에 에_대한 와 과 로 으로 whenever including
        together_with 综上 综上所述 总的来说 daher tandis donc 部分 分别 十分 充分 过分 分明
        分布 百分 moreover furthermore besides hence indeed meanwhile especially particularly
        namely as_well as_possible before_committing before_we_compute before_we_calculate
        before_computing before_calculating before_moving_on before_proceeding von_den von_der
        von_dem von_diesen von_allen where_possible wherever_possible if_possible 经过 next_to
        before_settling before_deciding before_scoring before_assigning before_rating
        along_with 대한 なので da_es como""",
    "TOWARD": """
        able_to access_to ability_to way_to puedo podido kann können konnte peux posso to can
        bis hasta até al
        than against through let ability rather_than than_the_other than_the_others than_other
        against_the_other against_other against_others against_each_other""",
    "FROM": "from",
    # --- What may be spoken of ---
    "THIS": """
        this these those everything ones above below following foregoing preceding the_rest
        it_all all_of_it diese* dies obige* ces cette ceci este esta estos estas esto questi
        queste questo 这些 以上 以下 上述 下列 これら 上記 以下が 위 아래 다음 эти that_is
        that_was that_were all_that""",
    "PICTURE": """
        image images picture pictures photo photos photograph photographs edit edits img imgs
        bild bilder bildern fotos foto imagen imagenes imágenes imagem imagens immagine
        immagini afbeelding* obraz* resim* görsel* изображени* картин* фото* 图片 图像 照片 圖
        图 画像 写真 이미지 사진 그림 chart charts graph graphs diagram diagrams
        bildes édition éditions edición ediciones edição edições modifica modifiche
        bearbeitung bearbeitungen l'image d'image l'édition 図 장의 图一 图二
        in_the_output images_and_prompt image_and_prompt images_and_the_prompt""",
    "THING": """
        candidate candidates method methods version versions item items task set generation
        pair result_image variant variants option options alternative alternatives submission
        submissions model's request entry_image samples edited generated resulting ranking
        bearbeitet* édité* editad* modifié* modificat* modificad* 编辑后 编辑 編集 編集後
        编辑过 편집 편집된 修改后 retouché* the_number_of_methods number_of_methods
        number_of_images number_of_edits number_of_candidates number_of_factors""",
    "FILE": """
        archivo archivos ficheros nombres file files filename filenames attachment attachments
        attached_files upload uploads
        uploaded re_upload reupload link links url urls thumbnail thumbnails caption captions
        metadata message messages chat prompt prompts title titles tags tag input vision
        module context_window connection download* payload base64 exif preview previews names
        the_data image_data pixel_data
        plik* bestand bestanden bijlage* filen filerna dosya* файл* вложен* fichier*
        ficheiro* arquivo* datei* allegat* anhang soubor* tiedosto* الملف tệp 文件 ファイル
        파일 załącznik*
        task_description""",
    "SEE": """
        he_visto he_revisado he_mirado he_examinado he_analizado look_at looked_at looking_at
        see saw seen seeing view viewed viewing look looked
        looking looks_at inspect inspected inspecting inspection observe observed perceive
        access accessing open opened opening processed processing examine examined examining
        examination visually glance voir vois vu vues ver veo visto vejo vedere vedo sehe
        sehen gesehen ansehen öffnen anzeigen zien zie gezien widz* göre* увид* вид* виж* 查看
        看到 看见 看 访问 打开 見る 見え 見て 見ら 確認 閲覧 볼 보이 확인
        otworzy* otwiera* odczyta* geopend openen opende öppna* öppnad* läsas загруз*
        прочит* aprire apriva apre aperto aperta abrir abre abriu abrió abrieron
        abriram aberto abierto ouvrir ouvre ouvrait ouvert öffnet geöffnet öffne åbne*
        åpne* auen* avautu* otevř* فتح mở 開け 開か 열리
        mirar miro regarder regarde regardé guardo guardare guardi olhar olho bekijk* посмотр*
        смотр* ansehe anschau* angesehen anschaue betrachte* 见 見まし 보겠 mire 見ます 보지""",
    "ARRIVE": """
        receive receives received receiving arrive arrives arrived load loads loaded attach
        attached provide provides provided providing display displayed visible available
        accessible delivered transmitted decode decoded render rendered fetch fetched retrieve
        retrieved come comes came come_through came_through sent send shown show_up given get
        gets got reach reached include included share shared present presented handed find
        found cargar* cargad* llegó llegaron charg* geladen laden caricat* 加载 載入 読み込
        로드 recib* reçu* ricevut* receb* erhalten vorlieg* ontvangen получ* откры* 收到 接收
        提供 表示 受け取 받
        wczyta* załadow* laddas laddad* yükle* carreg* načíst* načten*""",
    "BROKEN": """
        missing blank corrupt* broken unreadable empty unavailable inaccessible expired
        stripped damaged incomplete offline disabled switched_off unseen undecodable not_found
        unopened unviewable undisplayed gray_squares
        açılmad* açılamad* yüklenmed* yüklenemed* okunamad* uszkodzon* beschadigd*
        skadad* bozuk поврежд* danneggiat* danificad* corrompid* corrott* dañad*
        endommag* corrompu* illisible* defekt* beschädigt* onleesbaar nieczyteln*
        poškozen* 损坏 破损 壊れ 破損 손상 تالف""",
    "SCORE": """
        digit digits score scores scored scorecard scoring rating ratings number numbers value
        values figure figures grade grades mark marks evaluation evaluations assessment
        assessments verdict verdicts judgement judgements judgment judgments subscores
        sub_scores result results output outputs response reply scoresheet breakdown
        bewertung* wertung* benotung* noten punkte punktzahl* wert werte werten zahl zahlen
        ergebnis* puntuaci*
        puntaje* calificaci* valores valor pontuaç* notas nota punteggi* voti valori
        valutazion* évaluation* valeurs cijfers oceny liczby puanlar* оцен* балл* значени*
        分数 评分 得分 打分 数字 数值 评价 结果 スコア 点数 評価 採点 数値 점수 평가 결과 結果
        valoraci* voto votos
        evaluaci* avaliaç* notation notations 评估 评测 评语 得点 평점 채점 urteil* resultat*
        résultat* resultado* risultat* note_globale einschätzung* beurteilung*
        appréciation* cotation*
        wartoś* waarden värden värde değer değerler* hodnot* قيم giá_trị
        score_card les_notes mes_notes ces_notes vos_notes scores_i_can_give i_voti i_punteggi
        i_risultati результат*""",
    "LAYOUT": """
        list card grid table tables column columns row rows entry entries label labels
        order numbering
        sheet heading headings json csv markdown yaml lists toml xml ini yml tsv python
        tabelle* tableau tabla tabella tabela 表格 表格形式 liste lista 列表 structure
        structured array""",
    "JUDGE": """
        rate rates rated graded judge judged judging evaluate evaluates evaluated evaluating
        assess assesses assessed assessing assign assigns assigned assigning award awarded
        awards give gives giving gave compare compares compared comparing comparison
        prefer preferred round rounded rounding reflect reflects
        reflected reflecting represent represents base based bases capture captures indicate
        indicates take takes taken taking account depend
        depends depending vary varies analyse* analyze* analysing analyzing analysis review
        reviewed reviewing
        use uses used using compute computed calculate calculated determine
        determined derive derived settle settled propose proposed suggest suggested make makes
        making made put perform performs performed performing performance follow_from earn
        earns deserves achieves treated looks weighted weighting ranked strictly re_checked
        checked double_checked applied apply measured decide decided marked conclude
        concluded solve solved arrived_at arrive_at came_to come_to
        erhält bekommt erzielt erreicht gebe vergebe obtient reçoit attribue donne obtiene
        doy dou assegno asigno atribuo attribuisco
        otorgo krijgt riceve ottiene recebe obtém 得 bewertet bewerte bewerten beurteil*
        vergleich* évalue évalué* évaluer comparé* comparaison comparais* noté notées evaluado
        evaluadas evaluar evaluad* comparad* comparación comparar comparando compar* analiz*
        analis* valutat* valuto confront* avaliad* avaliar calcul* 对比 比较 评判 评定 分析
        比較 判定 비교 분석 给出 判断 打出 giudic* examin* calibrated calibrating calculating
        computing verglichen vergleichen abgewogen comparado comparada comparei avaliei
        confrontato 计算 综合考虑 he_comparado he_evaluado he_asignado he_valorado he_puntuado
        сравн* сопостав* рассчит* vergeleken beoordeeld 비교한 비교하여 비교해
        intended_to_reflect meant_to_reflect geprüft prüfen examen 比較し chose chosen choose
        should_provide should_reflect should_give_a used_tenths 反映 使用 consider considers
        considered weigh weighed weighs weighing avoid avoids avoided avoiding""",
    "FACTOR": """
        factor factors criterion criteria aspect aspects metric metrics dimension dimensions
        category categories definition definitions rubric guideline guidelines protocol rules
        requirement requirements terms respect expectations intention intent standard
        standards formula formulas
        critère* criteri* criterio* critério* kriteri* faktor* facteur* fattor*
        factores fatores aspekt* aspecto* aspetti 维度 标准 指标 方面 基準 項目 항목 기준""",
    "INSTRUCTION": """
        instruction instructions instructed text texts applied_the_edit apply_the_edit
        applies_the_edit performed_the_edit perform_the_edit made_the_edit applying_the_edit
        text_prompt editing_prompt edit_prompt follows_the_prompt followed_the_prompt
        follow_the_prompt the_user's_instruction the_user's_instructions the_user's_request
        the_user's_query the_user's_question the_user's_prompt the_user's_needs
        matches_the_prompt to_the_prompt with_the_prompt""",
    "ANSWER": """
        answer answers solution solutions assistants assistant question problem equation fact
        facts
        the_response_provides the_response_provided the_response_also the_response_is_therefore
        the_response_is_inaccurate the_response_is_not_accurate the_response_is_not_correct
        the_response_is_partially the_response_is_mostly the_response_is_factually
        the_response_includes the_response_included the_response_correctly
        the_response_accurately the_response_addresses the_response_addressed
        the_response_contains the_response_contained the_response_demonstrates
        the_response_captures the_response_adheres the_response_adhered
        the_response_assumed the_response_lacks the_response_offers
        the_response_identifies the_response_is_well the_response_is_concise
        the_response_is_clear the_response_is_accurate the_response_is_excellent
        the_response_is_relevant the_response_is_informative the_response_is_thorough
        the_response_is_helpful the_response_is_comprehensive the_response_is_directly
        the_response_is_incorrect the_response_is_correct the_response_was_well
        the_response_was_concise the_response_was_clear the_response_was_accurate
        the_response_was_excellent the_response_was_relevant
        the_response_was_informative the_response_was_thorough the_response_was_helpful
        the_response_was_comprehensive the_response_was_directly
        the_response_was_incorrect the_response_was_correct
        the_overall_quality_of_the_response quality_of_the_response""",
    "SOURCE": """
        not_an_edit source original originals reference unedited input_image ausgangsbild
        originalbild
        output_image
        原图 原始图像 元画像 원본 originale originales originalbildes originaux""",
    "GRADE": """
        worst worse high bad great strong stronger strongest no_ties weak weaker weakest fair
        fairly poor fine overall favourite favorite lead leads close closest consistent
        consistently balanced success successful tie ties tied equal equally similar clear
        clearly careful carefully thorough thoroughly objective objectively subjective
        impartial independent independently relative main slight slightly mixed_bag middling
        average_edit honest honestly professional quantitative qualitative convincing mejor
        meilleur* migliore 最好 优 лучш* best_possible fairness strict lenient higher
        highest greater bigger larger
        close_call close_calls tough hard harder hardest tricky easiest easy easier
        difficult
        表现 整体 总体 更佳 全体 更优 relative_rather_than_absolute medium moderate moderately
        otherwise_indistinguishable otherwise_identical otherwise_equal otherwise_similar
        otherwise_unchanged otherwise_intact alike indistinguishable close_together
        最差 最低 最高 最悪 最良 최고 최저 höher höchst* niedrigst* schlechtest* pire peor
        peggiore plus_élevé* más_alto più_alto mais_alto""",
    "GOOD": """
        best better good excellent perfect flawless wins win winning winner beste besser
        更好 最佳""",
    "LOW": "lower lowest low small smaller smallest fewer fewest less",
    "NUMBER": """
        one two three four five six seven eight nine ten eleven twelve twenty hundred half
        first second third fourth fifth sixth last once twice zero thirteen fourteen fifteen
        sixteen seventeen eighteen nineteen fifty deux trois quatre zwei drei vier dos tres
        cuatro due tre quattro
        第五 第六 première deuxième troisième quatrième erste* zweite* dritte* vierte*
        primera segunda tercera cuarta prima seconda terza primeira terceira
        第一 第二 第三 第四 duas dois quatro cinco fünf sechs cinq cinque 두 세 """,
    "SCALE": """
        scale scales range ranges ranging point points integer integers run_from runs_from
        go_from goes_from halves_allowed halves_are_allowed half_points_allowed
        half_points_are_allowed with_halves
        whole_number whole_numbers numeric numerical out_of skala escala sobre sur von su
        decimi échelle scala 点満点 만점 점 из
        分 分制 点制 점제""",
    "BOUND": """
        min minimum minimal max maximum maximal limit limits bound bounds cap caps threshold*
        least at_least at_most ceiling cut_off cutoff*
        满分""",
    "DIFFER": "differ differs disagree disagrees differently",
    "MEANS": "means signifies",
    "TOO": "too overly much_too",
    # --- What makes scores something else than this judge's verdict on these pictures ---
    "UNREAL": """
        placeholder* hypothe* made_up make_up making_up made_these_up made_it_up made_them_up
        made_all_up made_that_up made_this_up made_those_up fiction* fictitious fictive
        invent* imagin* illustrat* demonstrat* demo demos dummy dummies random* arbitrar*
        simulat* fabricat* guess* speculat* mock mock_up mockup fake* pretend* example
        examples e.g for_example for_instance instance sample_output sample_scores
        sample_numbers sample_answer template* filler* filled_in fill_in fill filling drill
        drills rehears* dry_run trial_run exercise toy stand_in stand_ins standin* default*
        neutral autofill* auto_generated hallucinat* confabulat* improvis* extrapolat*
        estimat* approximat* assum* assumption* suppos* presum* expect expected expects
        expecting predict* lorem ipsum bogus synthetic stub sketch test tests testing
        test_data format_demo for_show purely_for_show plan plans planned planning witz scherz
        spaß spass gewürfelt würfel* zufall* blague* plaisanterie hasard dés broma* azar dados
        scherzo piada grap żart шутк* 玩笑 骰子 冗談 サイコロ 농담 주사위 joke joking joked
        kidding lied lying lie prank fun nonsense gibberish untrue counterexample memory blind
        blindly sight_unseen hope_for made_blind pure_guess beispiel* erfunden* fiktiv*
        platzhalter* hypothetisch* willkürlich* geschätzt* ausgedacht exemple* inventé*
        fictif* imaginaire* aléatoire* hypothéti* défaut ejemplo* inventad* ficticio*
        ficticia* ilustrativ* hipotétic* aleatori* relleno exemplo* fictíci* esempio esempi
        inventat* fittizi* ipotetic* voorbeeld* verzonnen przykład* zmyślon* örnek* пример*
        вымышл* выдум* придум* гипотетич* случайн* условн* 示例 样例 举例 例子 假设 虚构 随机
        随便 占位 编造 编的 瞎编 乱写 捏造 例です 例として 例の 架空 仮の サンプル ダミー 仮定
        適当 예시 가상 임의 예를 layout syntax copied copy copying repeated repeat repeats
        pasted sample chance coin dice lottery lot odhad* naslepo asal shot_in_the_dark
        wild_guess 估计 估算 猜测 猜的 推测 模拟 虚拟 默认 预设 测试 演示 胡乱 杜撰 凭空 想象
        设想 模板 样本 推想 推測 推定 想像 デモ テスト ランダム でたらめ 見本 例示 でっち 仮に 予想
        推量 추측 추정 예상 상상 무작위 랜덤 허구 지어 테스트 샘플 데모 가정 예제 예로
        supposé* estimé* estimation* fictive* bidon inventée* deviné* arbitrair* supuest*
        estimad* estimaci* estimaç* simulad* arbitrari* adivin* prueba prueba* ejempl* geraten
        schätz* erdacht* simuliert* muster* vermut* angenommen* annahme* stimat* stima stime
        supposizion* indovinat* chutad* chute suposiç* aleatóri* modèle_de schätzwert*
        testwert* estimativ* plantilla* drew_lots gabarit* vorlage* 模版 ひな形 템플릿
        domyśln* zastępcz* standaardwaard* standardvärd* standardwert* standardvær*
        standardverdi* varsayılan умолчани* predefinit* valores_padrão valor_padrão
        por_defecto mặc_định افتراضي* デフォルト 既定値 初期値 기본값 oletusarvo* výchoz*
        ersatzwert* заглушк* segnaposto platshållar*
        eyes_closed closed_eyes closed_my_eyes closing_my_eyes came_to_mind came_to_my_mind
        comes_to_mind come_to_mind that's_the_format for_the_format is_the_format
        was_the_format warm_up practice practise practising practicing make_it_look
        make_them_look avoided_looking avoid_looking avoided_opening avoided_viewing indovin*
        devine* угад* 凑数 らしい 대충""",
    "DRAFT": """
        上一批 上一轮 上一组 last_week's
        draft* preliminar* provisional* tentative* initial initially previous previously
        earlier old older prior former formerly unrevised uncalibrated first_pass
        first_impression first_impressions gut_feeling gut_feel from_the_gut rough roughly
        pass trial attempt run superseded outdated obsolete stale unfinished temporar* interim
        unverified unconfirmed pending scratch vorläufig* provisoire* provisori* 草稿 初步
        暂定 暫定 so_far stab refine*
        préliminaire* brouillon ébauche entwurf* bozza rascunho borrador* 初稿 临时 暂时 下書き
        초안 임시 잠정 vorab""",
    "WITHDRAW": """
        do_not_record don't_record do_not_enter don't_enter do_not_save não_registe no_registre
        nicht_eintragen ne_pas_enregistrer retiro retracto ritiro je_retire ziehe_zurück
        no_longer_holds no_longer_hold no_longer_stands no_longer_valid no_longer_counts
        no_longer_applies does_not_count doesn't_count do_not_count don't_count does_not_hold
        none_of_the_above_stands none_of_the_above_holds none_of_the_above_counts
        none_of_it_stands none_of_this_stands does_not_stand no_longer_happy not_happy ignore
        ignored ignoring disregard* discard* forget* retract* withdraw* withdrew revoke*
        cancel* void voided invalid* null moot delete deleted scrap strike redo redone restart
        start_over start_again take_back take_it_back take_that_back take_this_back
        take_them_back take_these_back take_all_of_that_back back resend re_send oops ouch
        whoops sorry すみません apolog* wait hold_on hmm nevermind never_mind my_bad worthless
        meaningless unreliable untrustworthy useless trust trusted rely quote seriously ernst
        serio sérieux 当真 grain_of_salt salt caution don't_use skip skipped omit annul*
        overrid* overwrit* scratch_that strike_that anul* anular* nothing_counts
        counts_for_nothing ignorieren ignoriere ignoriert ignorez ignorer ignorar ignorare
        ignorate negeer vergiss zurück zurücknehmen ungültig* nevažn* 忽略 无视 作废 撤回 无效
        無視 無効 무시 무효 игнор* учитыва* недейств* oubli* rectif* olvid* descart* verwerf*
        verworfen streich* 取消 更正 不算 撤销 抱歉 取り消 訂正 취소 정정 철회 죄송 désolé*
        lo_siento entschuldig* scus* desculp* no_tomes no_tome will_be_replaced to_be_replaced
        to_be_revised changed_my_mind change_my_mind""",
    "ALTER": """
        go_lower go_higher go_one_lower go_one_higher would_be_lower would_be_higher
        swap* switch switched switching exchang* interchang* revers* invert* flip* flipped
        double doubled halve* halved shift* multipl* divid* subtract* deduct* transpos*
        mislabel* mis_label* relabel* renumber* mix_up mixed_up mixed got_mixed confus*
        trade_places vice_versa other_way_round other_way_around wrong_way_round upside_down
        backwards backward bottom correction corrections erratum errata amend* adjust* fixed
        fix rescal* off_by_one instead otherwise regardless becomes denote* stands_for
        stand_for refers refer refers_to belongs belong opposite twisted vertausch*
        verwechsel* intercambi* échang* scambi* 取り違え 互换 调换 弄反 搞混 对调 入れ替 逆に
        바뀌 numbered counted called renamed change_places changed_places have_to_change meant
        korrektur* corrección* correzione
        base_2 base_3 base_4 base_5 base_6 base_7 base_8 base_9 base_11 base_12
        base_16 base_two base_three base_four base_five base_six base_seven base_eight
        base_nine base_twelve base_sixteen octal hexadecimal hex binary_digits
        in_binary senary ternary dualsystem oktal* hexadezimal* sechsersystem octales
        binario binaire hexadécimal* двоичн* восьмеричн* 二进制 八进制 十六进制 六进制 進法
        scale_of_my_own my_own_scale added_noise add_noise""",
    "QUANTITY": """
        vote votes voters likes rank ranks weight weights seconds minutes hours milliseconds
        confidence certainty uncertainty probability probabilities likelihood percentile
        percentiles delta deltas margin margins penalty
        penalties deduction deductions count counts number_of amount_of
        how_many how_much how_long how_sure how_certain how_confident tokens cost costs price
        places duration severity importance priority contribution contributions coefficient*
        share_of gain gains loss losses improvement improvements frequency occurrences cents
        dollars years variance deviation distance people_who annotators_per page pages chapter
        gewicht* rang platz 排名 权重 重み 票 percent percentage stars star likert normalised
        normalized tenths hundredths per_cent mistakes_found found_issues""",
    "TOTAL": """
        sum sums total totals subtotal average averages mean means_of median aggregate 总分
        總分 合計 총점""",
    "RATER": """
        annotator* rater raters reviewer* assessor* evaluator* juror* critic critics
        colleague* expert experts participant* observer* grader* crowd* human humans user
        users uploader person_who model organiser* organizer* author authors paper papers
        literature publication dataset leaderboard oracle teacher committee someone somebody
        anybody he she teammate* audience customer* client clients students student jury
        predecessor friend boss 评审 评委 他人 别人 另一位 評者 他の人 다른 told said says say
        heard hearsay rumour rumor rumours paper_reports gutachter* prüfer* kolleg*
        évaluateur* collègue* annotateur* evaluador* anotador* valutatore valutatori
        avaliador* 人工 专家 同事 标注 专业人士 専門家 注釈 전문가""",
    "MODEL": "gpt* chatgpt gemini claude llava qwen llama",
    "TIME": """
        tomorrow yesterday later soon today tonight week weeks month months ago monday tuesday
        wednesday thursday friday saturday sunday session sessions conversation next_time
        before until last_round last_time moment day days morning evening year afterwards
        eventually anymore""",
    "OTHER": """
        other another different elsewhere others wrong_ones autre* otro* otra* andere* altr*
        另一 其他 他の 別の else someone_else comparable""",
    "WRONG": """
        wrong wrongly incorrect incorrectly mistake mistakes mistaken mistakenly accidentally
        error accident inadvertently typo slip falsch falsche falschen faux fausse equivocad*
        sbagliat*""",
    # Whose scores are, if not the judge's own: "borrowed", "came with the task".
    "TAKEN": """
        came_with came_from comes_from comes_with come_with come_from coming_from came_along
        read_off read_out read_from taken_over taken_from took_from takes_from take_from taken_out
        handed_to handed_down handed_over passed_on passed_down passed_to borrow* inherit*
        lifted_from pulled_from quoted_from collected gathered supplied dictated recall* remember
        remembered adopted reused re_used carried_over brought_over brochure* catalogue* catalog
        stammen stammt übernommen bekommen tiré* tirées pris prises presi prese sacad* tomad*
        tirad* tomei gekregen overgenomen взят* 抄 来自 拿到 沿用 取自 渡された もらった
        전달받 가져온 by_the_descriptions by_the_description by_the_text by_the_names
        by_the_title at_the_descriptions at_the_description at_the_captions""",
    "USUAL": """
        usual usually always normally typical typically habit habits habitual* customar*
        ordinarily
        as_ever routine* immer üblich* gewöhnlich* normalerweise typisch* toujours habituel*
        d'habitude siempre costumbre normalmente sempre solito abitual* costumam altijd
        gebruikelijk* gewoonlijk всегда обычн* 通常 一直 总是 平时 往常 上次 いつも 普段 前回
        항상 평소 보통 지난번 letztes_mal letzten_mal dernière_fois última_vez ultima_volta
        vorige_keer прошл* de_costume in_general""",
    "REAL": "real actual actually true genuine really truly in_fact",
    "HEDGE": """
        uncertain unsure doubt doubts doubtful guarantee* vouch verif* confirm* confident
        certain reliable reliably stand_behind stand_by sure more_or_less give_or_take""",
    # --- What is known to be harmless ---
    "FINAL": """
        final finally revised updated update corrected definitive reconsidered conclusion
        conclusions reflection official endgültig* 最终 最終 refined_scores refined_ratings
        refined_values refined_evaluation i_stand_by""",
    "ANNOUNCE": """
        wie_folgt come_segue como_sigue comme_suit
        used_the_layout_you in_the_layout_you in_the_requested_layout last_but_not_least
        moving move onto turning turn coming ahead similarly likewise whereas lets here here's
        hereby follow follows followed detail details detailed summary brief briefly concise
        short step stage section form format requested completed complete comprehensive full
        fully overview report decision opinion impression way findings observations
        observation remarks remark notes noted corresponding individual individually separate
        separately side mind own now firstly secondly thirdly lastly where_i_land proceed
        proceeding mentioned stated listed please_find find_below in_numbers come_out
        time words descriptions description degree degrees extent sub per_image image_by_image
        hier folgend* voici aquí ecco siguiente* sigue 结果如下 是我的 以下是 goes go editor
        editors editing process time_to goes_like this_way вот 对 三张 两张 张 如下 です
        visual note think let_me_think required_format requested_format content contents basis
        add 다음과 같습니다 vão purpose 通り とおり übersicht überblick zusammenfassung
        zusammengefasst ausführlich* einzeln* tienes continuación résumé récapitulatif aperçu
        suivant* dessous ci détail* voilà resumen detallad* resumid* resumo detalhad* abaixo
        seguir aqui segue seguem riepilog* dettagli* sintesi seguito nachfolgend* unten
        presento presenta présent* 下面 所示 详细 具体 总结 汇总 概述 依次 逐一 综合 分项 詳細
        まとめ 一覧 下記 総評 요약 상세 아래와 같이 아래는 세부 whole_picture
        at_the_end keep_in_mind bear_in_mind keeping_in_mind convenience single 两幅 三幅 四幅
        两个 三个 四张 五张 六张 幅 説明 通りとなります factor_by_factor one_by_one
        criterion_by_criterion read one_image_after_another image_after_image
        one_after_another one_after_the_other one_at_a_time where_i_landed where_they_landed
        where_they_land how_they_came_out 前面的分析 之前的分析 上面的分析 进行 逐张 이미지별
        ごとに per_edit 四个 五个 六个 you_asked_for you_requested as_requested as_you_asked
        as_you_requested suivent folgen siguen seguono opinions opinion_of_a_model
        opinions_of_a_model opinion_of_one_model opinion_of_an_ai you'll_find you_will_find
        you_can_find""",
    # What whoever wrote the instruction did: "the user drew", "the prompt asks".
    "WISH": """
        ask asks asked wanted wants requests requires demands specifies drew sketched circled""",
    "REASON": """
        explanation explanations reason reasons reasoning justification justifications
        rationale rationales comment comments evidence pros cons strengths weaknesses feedback
        begründung explain explains explained explaining describe described describes justify
        justified summarise* summarize* summarising walk_through walk_you_through go_through 说明
        补充说明 理由 remarques remarque anmerkung* hinweis* observaciones osservazioni примечани*
        замечани* commentaires comentarios erläuterung*""",
    "NEXT": "next more further additional",
    "GROUND": """
        measured_facts measurements visible_evidence visual_evidence what_is_visible
        what_i_see what_i_saw what_i_could_see what_i_can_see what_can_be_seen visual_inspection
        visual_impression visual_comparison visual_assessment""",
    "COURTESY": """
        kind_regards best_regards best_wishes regards sincerely por_supuesto con_gusto
        natuurlijk graag oczywiście elbette tabii конечно com_certeza
        claro_que_sim naturalmente volentieri avec_plaisir 물론
        you're_welcome you_are_welcome hello hi hey greetings hallo bonjour salut hola ciao
        olá merhaba привет 你好 您好 好的 好 こんにちは 안녕하세요 wow goodbye bye take_care
        all_done have_a_nice_day have_a_great_day let's_dive_in let's_begin let's_start
        let's_get_started dive welcome please kindly certainly absolutely gladly of_course
        course sure_thing ok okay alright all_right understood yes got_it ready done end_of
        end concludes that_is_all that's_all that's_it that_concludes this_concludes cheers
        in_summary to_sum_up summing_up recap
        to_summarise to_summarize all_in_all bitte por_favor danke_für
        selbstverständlich natürlich_gerne claro bien_sûr certamente certo d'accord entendu
        verstanden entendido 当然 当然可以 没问题 明白 了解 かしこまりました 承知しました
        承知いたしました はい もちろん 알겠습니다 물론입니다 très_bien muito_bem molto_bene
        bene muy_bien sehr_gut perfetto perfecto perfeito perfekt parfait vale отлично хорошо
        좋습니다 좋아요 太好了 ok_then goed 네 this_completes that_completes completes bereit""",
    "OFFER": """
        let_me_know feel_free if_you if_you'd should_you would_you do_you shall_i could_you
        you_can you_may happy_to happy glad thank* hope hopefully looking_forward
        look_forward good_luck questions j'espère espère hoffe* danke bescheid gern gerne
        fragen espero gracias pregunt* ayuda* merci hésitez spero grazie domande obrigad*
        ajud* perguntas hoop bedankt vragen nadziej* dziękuj* pytania umarım teşekkür* надеюсь
        спасибо вопрос* 希望 谢谢 如需 如有 如果您 请告诉 有帮助 ありがとう ご不明 お知らせ
        幸いです 감사 도움이 궁금 질문 n'hésitez tell_me viel_erfolg saluti grüße saludos
        cordialement 祝好
        souhaitez voulez avísame quieres deseas möchten möchtest wünschen vuoi
        desideri deseja quiser 请随时 随时 欢迎 お気軽に ご質問 말씀해 원하시면 필요하시면
        n'hésitez_pas no_dudes no_dude zögern_sie_nicht non_esitare não_hesite soll_ich
        sollen_wir wenn_sie_möchten wenn_du_möchtest wenn_gewünscht falls_gewünscht bei_bedarf
        auf_wunsch désirez si_vous si_besoin puis_je je_peux désire desea desean si_lo_desea
        si_quieres si_quiere quiere puedo_calcular te_gustaría le_gustaría se_vuoi se_desidera
        vuole desidera posso_calcolare posso_calcular gostaria se_desejar se_quiser desejar
        wilt_u wil_je zal_ik laat_het_me desgewenst хотите хотели_бы если_нужно
        при_необходимости 如果需要 如需要 需要我 若需要 如果您需要 如果你需要 是否需要 要不要
        要我 よろしければ 必要であれば ご希望 必要でしたら しましょうか 필요하다면 원하신다면
        드릴까요 할까요 if_you're i_am_happy appreciate appreciated i_can
        if_anything_is_unclear just_ask si_necesitas si_necesita just_say ますか でしょうか""",
    # What can be seen in a picture, done to it, or said of how it looks.
    "CONTENT": """
        at_the_table on_the_table under_the_table
        out_of_target in_target background* foreground* halo* colour* color* light* lit shad*
        edge edges textur*
        sharp* blur* nois* artifact* artefact* sky skies object objects subject subjects face
        faces hand hands finger* paw paws eye eyes ear ears leg legs toe toes tail tails nose
        hair fur feather* skin person people man men woman women child children dog dogs cat
        cats fox foxes bird birds horse* animal* butterfl* tortoise* shell* insect* fish
        flower* petal* leaf leaves tree trees pine pines grass* plant* water wave waves sea
        ocean river lake beach* sand* snow* ice desert* mountain* hill hills rock* stone*
        gravel pebble* cloud* sun suns sunset moon rain fog weather horizon* tide ground floor
        wall walls roof* window* door* house* building* street* road* kitchen room* chair*
        bench* lamp* bottle* cup car cars bus boat* bike* shirt* dress* hat* coat* cloth*
        watermark* logo* letters border* frame* corner* region* area areas pixel* px contour*
        blend* seam* style* styl* composition pose poses reflections proportion* perspective
        shape* pattern* glow* bright* dark* saturat* overexpos* over_saturated overexposed
        contrast tone tones palette grain* resolution compress* zoom* crop* depth bokeh
        realis* realism natural* artificial* plastic seamless* plausib* implausib* geometry
        rotat* anatom* limb* identity expression* scene* scenery landscape* view_er viewer*
        photographer* cartoon* painting* painted drawn smooth* crisp* soft* smear* distort*
        warp* stretch* jagged jaggies kept keeps keeping retain* preserve* preserving
        untouched altered replaces replaced replacing removed removes removing
        vanish* disappear* hover* float* standing steps step_wise arrow* sharpness
        melt* bend bends bent glass metal wood* paint sharpen* size sized tiny huge warm
        warmer cold cool cooler red blue green yellow white black grey gray brown purple
        orange pink golden changed change changes chart* graph* axis axes bar bars misread
        sides inserted inserting fuchs schnee strand himmel schatten licht hintergrund* kante*
        farbe* scharf unscharf natürlich renard neige sable plage ciel ombre* lumière arrière
        couleur* bord bords zorro nieve arena playa cielo sombra* luz fondo borde* volpe neve
        sabbia spiaggia ombra luce sfondo 狐狸 雪 沙滩 天空 影子 阴影 光线 背景 颜色 边缘 自然
        清晰 キツネ 砂浜 空 影 光 色 자연 배경 그림자 여우
        stick_figure stick_figures human_figure copy_of_the_source
        copy_of_the_original copy_of_the_input copy_of_the_unedited the_sketch_shows
        the_sketch_marks the_sketch_asks the_sketch_points in_the_sketch as_sketched
        visible_edit
        visible_edits semantic_edit visible_change visible_changes the_rest_of_the_photo
        the_rest_of_the_image the_rest_of_the_picture the_rest_of_the_scene""",
    # Everyday words that cannot void scores, whatever words of the classes above they stand with.
    # Not here: what may make them another's, usual, older, or still to be settled.
    "COMMON": """
        acceptable accuracy accurate accurately adhere adhered adherence adheres among_them
        amongst apart appreciation approach approaches at_a_glance attention
        attentive attentively balance balancing barely_noticeable barely_perceptible
        barely_visible beside bold bullet bulleted care caveat caveats challenge challenging
        chiefly cleanly close_cases close_look closely closest_call coherence coherent coincide
        coincided coincides compact comparatively completely compromise conscientious*
        considerably consistency contextual deeply defensible deliberate deliberately deserve
        diligent diligently direct directly disclaimer distinct
        distinction distinctions distinctive enjoy* entirely
        exact exactly exactness exceedingly extremely faithful faithfully faithfulness feel felt
        fidelity fine_detail fine_details finest_details formatted
        genuinely gradation* graduated granular* hard_call hardest_call hardly_visible
        head_to_head heavily identical impartiality in_bold inherently interesting
        involve involved involves is_acceptable is_accepted is_approved italic italics
        judgement_call judgment_call laid_out large left_open level levels logic logical lovely
        mainly matter matters meaningful merit merits meticulous meticulously mindful minding
        minor minute_details nearest neat neatly nice nicely notably noticeable
        noticeably nuance* numbered_list objectivity
        pairwise patience patient
        patiently perceptible perfectly
        pleasure precise precisely precision preservation primarily properly quality
        quick_overview reasonably relatively remarkably reserve reserved respectively rigor
        rigorous rigorously rigour scrutin* sense separated separates
        separating set_out side_by_side significant somewhat spelled_out spread_out
        spread_them spread_them_out strength stress stressed strongly
        subjectivity subtle subtler subtlet* subtly surprisingly systematic systematically
        tabulated taste thereby thoroughness tidy tiny_details totally tough_call toughest_call
        trade_off trade_offs tradeoff* understandably was_accepted weakness whereby wherein
        wherever
        habe haben hatte sich mich uns noch einmal nochmals direkt miteinander untereinander
        genau genaue genauer genauen sorgfältig* gründlich* aufmerksam* fein feine feinen feiner
        kleine kleinen kleiner kleinste kleinsten dabei jeweils somit insgesamt auch aber weil
        dass wie sehr gut gute guten besonders qualität genauigkeit realismus bildqualität
        kontexterhalt treue blick berücksichtigt berücksichtigen berücksichtigung
        berücksichtigte vermeiden vermieden gleichstände gleichstand gleiche
        abgestuft abstufung* halbe halben schritt
        punkt liegen liegt vergeben kommen_wir komme_ich_zu gesamtwert* gesamtnote*
        gesamtpunktzahl* berechnen berechne ermitteln einzelnen allen beiden beide direkten
        vergleiche als
        passons procédons très bien ainsi soigneusement attentivement minutieusement qualité
        précision fidélité réalisme cohérence éviter évitant égalités tenu tenant compte entre
        elles eux leur leurs enfin aussi afin ensuite sous forme ici plus moins fines fins
        nuances finement c'est globale global attribués attribuées attribué attribuée
        muy cuidado cuidadosamente atentamente atención detalle detalles evitar
        evitando empates empate cuenta teniendo tenido calidad precisión fidelidad realismo
        coherencia sus así también pasemos procedo pequeñ* sutil* matices
        molto attenzione attentamente cura accuratamente passiamo procediamo qualità precisione
        fedeltà coerenza evitare pareggi ho abbiamo tra fra ed anche così quindi poi infine più
        meno sottili piccol* tenendo conto
        muito vamos passemos passar atenção qualidade precisão fidelidade coerência então mais
        menos pequen* sutis levando conta geral
        heb hebben zorgvuldig* aandachtig* nauwkeurig* kwaliteit gelijke vermijden
        laten_we beginnen elk elke voor van met elkaar ook volgen volgt zijn
        перейдём перейдем к и на в с по для каждого каждой каждому каждое каждый всех итак ниже
        внимательно тщательно подробно деталей детали мелкие мелких качеств* точност* реализм*
        следующ* чтобы избежать избегая одинаков* также между собой критери* фактор* привожу
        приведены представл* итогов*
        仔细 认真 细致 考虑 细节 质量 准确性 保持 真实性 上下文 视觉 逻辑 避免 相同 同分
        并列 我会 将 了 请看 请见 让我们 首先 最后 并 而 其中 非常 因此 所以 区分
        客观 公正 个 继续 已 已经 我已
        それでは では 発表 丁寧 慎重 細部 細かい 観点 について に対する における して した 行い
        付け 注意 品質 正確 忠実 同点 避け よう ため ように 枚 番目 計算
        자세히 꼼꼼히 신중하게 그럼 먼저 각각의 가지 품질 정확도 일관성 동점 피하기 위해 가 이
        partly_a_matter matter_of_taste things attenta un'attenta un'analisi l'analisi
        dall'analisi keep closer wanted_to behind_each behind_them 示し 제시 정리 細かな
        distinguishable demonstrating_a_high demonstrates_a_high demonstrating_a_good
        demonstrates_a_good demonstrating_a_clear demonstrates_a_clear demonstrating_a_strong
        demonstrates_a_strong demonstrating_a_deep demonstrates_a_deep
        差异 差别 違い unterschied unterschiede unterschieden verschillen drove led_to guided""",
    "SOON": """
        jetzt nun ahora maintenant ora adesso agora nu теперь сейчас 现在 接下来 これから 이제
        voy_a
        vou""",
    "STAND": "stand stands stay stays hold holds remain* unchanged",
    # --- Words of a class above of which some rules ask in particular (see PARTS) ---
    # What whoever scores takes care of.
    "CARE": """
        aim aimed aiming intend intended tried try trying strive* striving strove attempted_to
        sought_to seek_to endeavo* taken_care took_care taking_care care_taken made_sure
        make_sure making_sure be_careful been_careful being_careful was_careful careful_to
        ensure ensured ensuring focus focused focuses focusing concentrate* penalise* penalize*
        reward* paid_attention paid_close_attention
        paid_special_attention pay_attention paying_attention paying_close_attention
        pay_close_attention pay_special_attention special_attention close_attention
        particular_attention attention_to differentiat* distinguish* discriminat* emphasi*
        emphasis highlight* notice noticed noticing take_into_account taken_into_account
        took_into_account taking_into_account takes_into_account take_into_consideration
        took_into_consideration taken_into_consideration taking_into_consideration account_for
        accounted_for favoured
        favored bemüht darauf_geachtet geachtet achte veillé veillant essayé_de cherché_à
        tenu_compte tenant_compte he_intentado he_procurado he_prestado he_tenido_en_cuenta
        procurando intentando cercato cercando старал* 尽量 力求 注重 关注 重視 心がけ 고려 노력
        tentei procurei
        reflect_the_differences reflect_differences reflect_subtle_differences
        reflect_small_differences capture_the_differences capture_subtle_differences
        capture_small_differences""",
    "GAP": """
        difference differences gap gaps flaws defects issues problems errors variations
        variation disparities disparity differenze diferencias différences
        различия различий 차이""",
    "BY": """
        by according""",
    "DECIMAL": """
        decimal decimals half_points half_point half_steps half_step increments fractional
        fractions dezimalstelle* 小数 一位小数 小数点""",
}

UNKNOWN = "UNKNOWN"
PARTS = {"JUDGE": "CARE", "QUANTITY": "GAP", "LINK": "BY", "SCALE": "DECIMAL"}
"""Classes that are part of another: what is said of the whole is said of them, too."""
COMMANDS = frozenset(
    """add take subtract deduct divide multiply halve double read swap exchange switch invert shift
    reverse flip replace move treat count lower raise reduce increase strike delete drop remove
    discard change correct""".split()
)
"""Words with which a sentence tells the reader to do something to the scores."""
ENGLISH = frozenset(
    """the of and is are has have with to but by its it this that these those at from there an be
    been were which their they you your thank thanks done best both one two some other
    than as i'm my looks look got gets because nothing not was did does would could so
    while cannot see any every each what when where who how only""".split()
)
"""Words that hardly any sentence in English does without, and that no other language has."""
_MARKS = {",": "COMMA", ";": "COMMA", "–": "COMMA", "—": "COMMA", ":": "COLON", "?": "ASKED"}
_NAMES = (*WORDS, *dict.fromkeys(_MARKS.values()), UNKNOWN)
# Rows of classes are strings of one character for each word, so that rules are patterns.
_CODES = {name: chr(0xE000 + place) for place, name in enumerate(_NAMES)}
_TOKEN = re.compile(r"\b[a-z]_\{?[a-z]+\}?|[^\W\d_]+(?:'[^\W\d_]+)?|[0-9]+(?:[.,][0-9]+)*|[,;:?–—]")
_EAST_ASIAN = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]")
_SHORTEST_STEM = 2


@dataclass(frozen=True, slots=True)
class _Tables:
    """The lists, ready to be looked up."""

    words: dict[str, str]
    stems: dict[str, str]
    phrases: dict[str, list[tuple[str, ...]]]
    """Phrases by their first word, the longest first."""
    asian: re.Pattern[str]


@cache
def _tables() -> _Tables:
    words: dict[str, str] = {}
    stems: dict[str, str] = {}
    phrases: dict[str, list[tuple[str, ...]]] = {}
    for name, listed in WORDS.items():
        for word in listed.split():
            if word.endswith("*"):
                stems[word[:-1]] = _CODES[name]
                continue

            words[word] = _CODES[name]
            if "_" in word:
                parts = tuple(word.split("_"))
                phrases.setdefault(parts[0], []).append(parts)

    for listed_phrases in phrases.values():
        listed_phrases.sort(key=len, reverse=True)

    asian = sorted(filter(_EAST_ASIAN.search, words), key=len, reverse=True)
    return _Tables(words, stems, phrases, re.compile("|".join(asian)))


@lru_cache(maxsize=8192)
def _code(word: str) -> str:
    """Return the code of a word's class: its own, or that of the longest stem it begins with."""
    tables = _tables()
    if word not in tables.words:
        word = word.removesuffix("'s")

    if word in tables.words:
        return tables.words[word]

    for end in range(len(word), _SHORTEST_STEM - 1, -1):
        if word[:end] in tables.stems:
            return tables.stems[word[:end]]

    if word[:1].isdigit():
        return _CODES["NUMBER"]

    if word[1:2] == "_":
        # S_acc, S_all
        return _CODES["FACTOR"]

    return _CODES[_MARKS.get(word, UNKNOWN)]


@lru_cache(maxsize=4096)
def row_of(text: str) -> str:
    """Return the classes of the words of a text, a character each, in their order."""
    found = _TOKEN.findall(text.lower().replace("’", "'"))
    phrases = _tables().phrases
    row = []
    place = 0
    while place < len(found):
        word = found[place]
        length = 1
        for parts in phrases.get(word, ()):
            if tuple(found[place : place + len(parts)]) == parts:
                word, length = "_".join(parts), len(parts)
                break

        row.append(_of_asian(word) if _EAST_ASIAN.search(word) else _code(word))
        place += length

    return "".join(row)


def _of_asian(word: str) -> str:
    """Return the classes of the words in a run of characters that no spaces part."""
    words = _tables().words
    row: list[str] = []
    place = 0
    for match in _tables().asian.finditer(word):
        row += _left_over(word[place : match.start()])
        row.append(words[match[0]])
        place = match.end()

    return "".join((*row, *_left_over(word[place:])))


def _left_over(part: str) -> str:
    """Return the class of what stands between words: an ending, or a word that is not known."""
    if not part:
        return ""
    return _CODES["COMMON" if _ENDING.fullmatch(part) else UNKNOWN]


# A syllable behind a word in Japanese and Korean bends it; those that deny are left out.
_ENDING = re.compile(r"[\u3041-\u3059\u305b-\u306b\u306d-\u3096]|[가-힣](?<![안못비불무])")


def rule(*forms: str) -> re.Pattern[str]:
    """Return a pattern for rows: classes by name, put together as in a regular expression.

    `NOT (BE|HAVE)* SEE THE* PICTURE` finds "did not see the image". UNKNOWN stands for any word
    that says nothing by itself, everyday ones included.
    """
    outside = re.sub(r"\[[^\]]*\]", lambda held: _coded(held[0], "{}"), "|".join(forms))
    return re.compile(_coded(outside, "[{}]").replace(" ", ""))


def _coded(form: str, several: str) -> str:
    """Return a form with codes for names; `several` is how those of one name are written."""

    def code(name: re.Match[str]) -> str:
        meant = "".join(sorted(any_of(name[0], *(("COMMON",) if name[0] == UNKNOWN else ()))))
        return several.format(meant) if len(meant) > 1 else meant

    return re.sub(r"[A-Z]+", code, form)


def any_of(*names: str) -> frozenset[str]:
    """Return the codes of classes, to be asked whether a row holds one, or nothing else."""
    parts = (PARTS[name] for name in names if name in PARTS)
    return frozenset(_CODES[name] for name in (*names, *parts))


def named(row: str) -> list[str]:
    """Return the names of the classes in a row, for whoever wonders why a rule holds."""
    return [_NAMES[ord(code) - 0xE000] for code in row]
